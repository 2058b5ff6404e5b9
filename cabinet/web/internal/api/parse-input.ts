import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Locale } from '../../../api/access.ts'
import type { Contract } from '../../../api/contract.ts'
import type { Idempotency } from '../../../api/endpoint.ts'
import { findFieldRefusal } from '../../../api/field-refusal.ts'
import type { FieldError, Problem } from '../../../api/problem.ts'
import { namedOrganization, queryWithoutOrganization } from './named-organization.ts'

type ParsedInput = {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly idempotency: Idempotency | undefined
  readonly ifMatch: string | undefined
}

/** Field errors listed in one response, so that a body full of errors does not get a long response. */
const errorsMax = 50

const localeErrors = { ru: z.locales.ru().localeError, en: z.locales.en().localeError }

/** Parses a request by its contract. Returns the input or a problem. Pure. */
export function parseInput(
  contract: Contract,
  request: Pick<FastifyRequest, 'method' | 'url' | 'params' | 'query' | 'body' | 'headers'>,
  locale: Locale,
): ParsedInput | { readonly problem: Problem } {
  const key = contract.idempotencyKey === true ? findKey(request.headers['idempotency-key']) : undefined
  if (contract.idempotencyKey === true && key === undefined)
    return { problem: { code: 'idempotency_key_required' } }
  const ifMatch = contract.ifMatch === true ? findIfMatch(request.headers['if-match']) : undefined
  if (contract.ifMatch === true && ifMatch === undefined)
    return { problem: { code: 'precondition_required' } }
  const errors: FieldError[] = []
  const read = (schema: z.ZodType | undefined, value: unknown): unknown => {
    if (schema === undefined) return undefined
    const parsed = schema.safeParse(value, { error: localeErrors[locale] })
    if (!parsed.success) errors.push(...parsed.error.issues.flatMap((issue) => fieldErrorsOf(issue, locale)))
    return parsed.data
  }
  const params = read(contract.params, request.params)
  const query = read(contract.query ?? noQuery, queryWithoutOrganization(contract.access, request))
  const body = read(contract.body, request.body ?? {})
  if (errors.length > 0) return { problem: { code: 'validation_failed', errors: errors.slice(0, errorsMax) } }
  // Only now: written as text, a body nested deeper than any contract's would overflow the stack. Without a contract,
  // the body is ignored and does not distinguish requests.
  const bodyRead = contract.body === undefined ? null : request.body
  const organization = namedOrganization(contract.access, request)
  const idempotency =
    key === undefined ? undefined : { key, requestHash: hashOf(request, organization, bodyRead) }
  return { params, query, body, idempotency, ifMatch }
}

/** Unknown parameters are rejected, even for endpoints without parameters. */
const noQuery = z.strictObject({})

/** One zod issue per field that it concerns. */
function fieldErrorsOf(issue: z.core.$ZodIssue, locale: Locale): readonly FieldError[] {
  const path = issue.path.map(String)
  const tell = (last: readonly string[]): FieldError => ({
    path: [...path, ...last].join('.'),
    code: issue.code === 'unrecognized_keys' ? 'unknown_field' : issue.code,
    message: issue.message,
    ...findFieldRefusal(issue, locale),
  })
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => tell([key])) : [tell([])]
}

const keyPattern = /^[\x21-\x7e]{1,255}$/

function findKey(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' && keyPattern.test(header) ? header : undefined
}

/** The same call for another organization is another one. */
function hashOf(
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
  organization: string | undefined,
  body: unknown,
): Buffer {
  const named = organization === undefined ? [] : [organization]
  return createHash('sha256')
    .update(JSON.stringify([method, url, body ?? null, ...named]))
    .digest()
}

function findIfMatch(header: string | undefined): string | undefined {
  return /^\s*(?:W\/)?"([^"]{1,128})"\s*$/.exec(header ?? '')?.[1]
}
