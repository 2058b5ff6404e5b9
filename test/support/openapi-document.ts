import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiResponsesObject } from 'zod-openapi'
import { scopeWith, type TokenScope } from '#cabinet/api/access'
import type { AnswerShape, Contract } from '#cabinet/api/contract'
import { type ProblemCode, statusOf } from '#cabinet/api/problem'

const fieldError = z.object({
  path: z.string().meta({ description: 'With dots: `allowed_models.0`.' }),
  code: z.string(),
  message: z.string(),
})

const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ description: 'For programs; the words are for people.' }),
    request_id: z.string(),
    doc_url: z.string().optional().meta({ description: 'The section of the documentation about the code.' }),
    errors: z.array(fieldError).optional(),
    challenge: z
      .looseObject({ parameters: z.looseObject({}), signature: z.string() })
      .optional()
      .meta({
        description:
          'Of `proof_of_work_required`: an ALTCHA challenge, version 2 (PBKDF2/SHA-256). Any ALTCHA library solves it.',
      }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457, in Russian or English by Accept-Language.' })

const sessionScheme = 'session'
const tokenScheme = 'token'

/** The head of each process's document. */
const processes = {
  web: {
    title: 'Model Gateway cabinet',
    description:
      'Accounts, API keys, usage and money. Amounts are rubles as decimal strings; times are RFC 3339 in UTC.',
    cookie: '__Host-model_gateway_session',
  },
  administration: {
    title: 'Model Gateway administration',
    description:
      'For administrators, at the address of the administration process. Amounts are rubles as decimal strings; times are RFC 3339 in UTC.',
    cookie: '__Host-model_gateway_administration',
  },
} as const

type Process = keyof typeof processes

/** The OpenAPI 3.1 document of these endpoints of a process. Pure. */
export function openApiOf(contracts: readonly Contract[], name: Process): object {
  const { title, description, cookie } = processes[name]
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const contract of contracts) {
    const path = contract.url.replaceAll(/:([a-z_]+)/g, '{$1}')
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operationOf(contract) }
  }
  const document = {
    openapi: '3.1.0',
    info: { title, version: 'v1', description },
    paths,
    components: {
      securitySchemes: {
        [sessionScheme]: { type: 'apiKey', in: 'cookie', name: cookie },
        ...(contracts.some((contract) => scopeOf(contract) !== undefined) ? tokens : {}),
      },
    },
  } as const
  // What a shape is checked by in a cluster is nothing to who calls over HTTP.
  return createDocument(document, {
    override: ({ jsonSchema }) => Reflect.deleteProperty(jsonSchema, 'x-kubernetes-validations'),
  })
}

function operationOf(contract: Contract): ZodOpenApiOperationObject {
  const { operation, summary, access, params, query, body } = contract
  const header = z.object({
    ...(access.to === 'member' ? { 'Organization-Id': organizationName } : {}),
    ...(contract.idempotencyKey === true ? { 'Idempotency-Key': z.string().min(1).max(255) } : {}),
    ...(contract.ifMatch === true ? { 'If-Match': z.string() } : {}),
    ...(mayNeedProof(contract) ? { 'Proof-Of-Work': proof } : {}),
  })
  return {
    operationId: operation,
    summary,
    description: accessWords(contract),
    security: securityOf(contract),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...(Object.keys(header.shape).length === 0 ? {} : { header }),
    },
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: responsesOf(contract),
  }
}

/** The scope with which a management token may call an endpoint. */
function scopeOf({ access }: Contract): TokenScope | undefined {
  return access.to === 'member' && access.tokens === true ? scopeWith(access.right) : undefined
}

const tokens = {
  [tokenScheme]: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'mt-gateway-…',
    description:
      'A management token of an organization, with the scope that the operation names. It needs neither `Origin` nor `Organization-Id`.',
  },
} as const

function securityOf(contract: Contract) {
  if (contract.access.to === 'anyone') return []
  const scope = scopeOf(contract)
  return [{ [sessionScheme]: [] }, ...(scope === undefined ? [] : [{ [tokenScheme]: [scope] }])]
}

const organizationName = z.uuid().optional().meta({
  description:
    'The organization that the call is for; required for members of several. Or `organization_id` in the query.',
})

const proof = z.string().max(4096).optional().meta({
  description:
    'After 428 `proof_of_work_required`: base64 of the JSON `{"challenge":…,"solution":{"counter":…,"derivedKey":…}}`, with the unchanged challenge. Valid once, for ten minutes.',
})

function mayNeedProof({ access, throttle }: Contract): boolean {
  return access.to === 'anyone' && throttle !== undefined
}

function accessWords(contract: Contract): string {
  const { access } = contract
  const scope = scopeOf(contract)
  switch (access.to) {
    case 'anyone':
      return 'Public.'
    case 'half_signed_in':
      return 'After the password, before the code.'
    case 'person':
      return 'For signed-in users.'
    case 'member':
      return `For members with the permission ${access.right}${access.confirmed === true ? ' and a confirmed address' : ''}${scope === undefined ? '' : `, and tokens with the scope ${scope}`}.`
    case 'administrator':
      return `For administrators${access.again === true ? ' who entered a code at most 5 minutes ago' : ''}.`
  }
}

function responsesOf(contract: Contract): ZodOpenApiResponsesObject {
  const responses: ZodOpenApiResponsesObject = {}
  for (const [status, shape] of Object.entries(contract.answers)) responses[status as '200'] = answerOf(shape)
  const codes = Map.groupBy(problemsOf(contract), statusOf)
  for (const [status, of] of [...codes].sort(([one], [other]) => one - other))
    responses[`${status}` as '400'] = {
      description: of.map((code) => `\`${code}\``).join(', '),
      content: { 'application/problem+json': { schema: problem } },
    }
  return responses
}

function answerOf(shape: AnswerShape) {
  if (shape === 'nothing') return { description: 'Done.' }
  if (shape === 'csv') return { description: 'Rows as CSV.', content: { 'text/csv': { schema: z.string() } } }
  if (shape === 'events')
    return { description: 'Events.', content: { 'text/event-stream': { schema: z.string() } } }
  return { description: 'The answer.', content: { 'application/json': { schema: shape } } }
}

/** Its own problems, and those that its access and its form imply. */
function problemsOf({
  access,
  problems = [],
  params,
  query,
  body,
  ...contract
}: Contract): readonly ProblemCode[] {
  const isChange = contract.method !== 'GET'
  const implied: readonly (readonly [boolean, readonly ProblemCode[]])[] = [
    [access.to !== 'anyone', ['unauthenticated']],
    [access.to === 'member', ['forbidden', 'organization_required']],
    [access.to === 'member' && access.confirmed === true, ['email_not_verified']],
    [
      access.to === 'member' && access.tokens === true,
      ['invalid_management_token', 'token_scope_required', 'other_organization', 'organization_blocked'],
    ],
    [access.to === 'administrator' && access.again === true, ['mfa_step_up_required']],
    [isChange, ['cross_site_request']],
    [params !== undefined, ['not_found']],
    [body !== undefined, ['malformed_request', 'request_too_large', 'unsupported_media_type']],
    [params !== undefined || query !== undefined || body !== undefined, ['validation_failed']],
    [contract.idempotencyKey === true, ['idempotency_key_required', 'idempotency_mismatch']],
    [contract.ifMatch === true, ['precondition_required', 'precondition_failed']],
    [mayNeedProof({ ...contract, access }), ['proof_of_work_required']],
    [contract.answers[200] === 'csv', ['too_many_exports']],
    [true, ['rate_limited', 'internal', 'service_unavailable']],
  ]
  return [...new Set([...problems, ...implied.flatMap(([is, codes]) => (is ? codes : []))])]
}

/** The committed document, `cabinet/<process>/openapi.json`; with `UPDATE_OPENAPI=1` it is first set to `actual`. */
export async function readOpenApi(name: Process, actual: object): Promise<unknown> {
  const file = join(import.meta.dirname, `../../cabinet/${name}/openapi.json`)
  if (process.env.UPDATE_OPENAPI === '1') await writeFile(file, `${JSON.stringify(actual, null, 2)}\n`)
  return JSON.parse(await readFile(file, 'utf8'))
}
