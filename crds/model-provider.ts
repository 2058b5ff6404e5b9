import { z } from 'zod'
import { baseAddress } from './address.ts'
import {
  apiVersion,
  conditions,
  metadata,
  observedGeneration,
  patterned,
  resourceName,
  secretKeyRef,
} from './resource.ts'
import { areDistinct, namedList, ruled } from './rule.ts'

/** Longest headers, in characters, and most of them. */
const headersMax = 32
const headerLengthMax = 4096

/** They say where a message ends and what becomes of its connection (RFC 9110 §7.6.1): no call could be made with them. */
const connectionHeaders = [
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

const headerName = ruled(patterned(253, /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header'), [
  {
    cel: `!(self.lowerAscii() in [${connectionHeaders.map((name) => `'${name}'`).join(', ')}])`,
    message: 'is a header of the connection, which the gateway sets itself',
    holds: (name) => !connectionHeaders.includes(name.toLowerCase()),
  },
])

const authType = <const Type extends string>(type: Type) =>
  z.literal(type).describe('ApiKey: as keys of this api are sent; Header: in a header of your choice.')
const credential = secretKeyRef.describe(
  'Its credential, in a Secret of this namespace with the label modelgateway.dev/provider-credential: "true".',
)

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: authType('None') }),
  z.strictObject({ type: authType('Bearer'), secretRef: credential }),
  /** As this api's keys are sent: `api-key: …` (AzureOpenAI), `Authorization: Api-Key …` (YandexGPT), else as Bearer. */
  z.strictObject({ type: authType('ApiKey'), secretRef: credential }),
  z.strictObject({
    type: authType('Header'),
    headerName: headerName.describe('The header that holds the credential, and nothing else.'),
    secretRef: credential,
  }),
])

/** A line break would be the next header. */
const headerValue = patterned(
  headerLengthMax,
  /^[\t -~]*$/,
  'must be the value of a header: visible characters and spaces',
)

const spec = ruled(
  z.strictObject({
    api: z
      .enum(['OpenAI', 'AzureOpenAI', 'Anthropic', 'Gemini', 'Bedrock', 'YandexGPT', 'GigaChat'])
      .describe('The wire it speaks.'),
    baseURL: baseAddress.describe('Its address, with the version: https://api.openai.com/v1.'),
    network: z
      .strictObject({
        http: z.boolean().default(false).describe('Whether plain http is meant.'),
        privateAddresses: z
          .boolean()
          .default(false)
          .describe('Whether loopback, private and link-local addresses are meant.'),
      })
      .default({ http: false, privateAddresses: false })
      .describe('What else than public addresses over TLS is meant.'),
    auth: auth.default({ type: 'None' }).describe('How it is shown its credential.'),
    headers: z
      .array(
        z.strictObject({
          name: headerName.describe('Of the header.'),
          value: headerValue.describe('Sent as it is.'),
        }),
      )
      .max(headersMax)
      .refine((headers) => areDistinct(headers.map(({ name }) => name)), {
        error: 'must not have one header twice',
      })
      .meta(namedList)
      .default([])
      .describe('Sent with every request. No place for secrets.'),
    limits: z
      .strictObject({
        requestsPerMinute: z.int().min(1).max(100_000_000).optional().describe('Absent: no limit.'),
      })
      .default({})
      .describe('Of the account there, shared by all gateways.'),
    tls: z
      .strictObject({
        caSecretRef: z
          .strictObject({ name: resourceName.describe('Of the Secret.') })
          .optional()
          .describe('In this namespace, with the label modelgateway.dev/provider-credential: "true".'),
      })
      .default({})
      .describe('A Secret with ca.crt: authorities that may vouch for it beside the usual ones.'),
  }),
  [
    {
      cel: "!self.baseURL.startsWith('http:') || (has(self.network) && self.network.http)",
      message: 'is plain http; say network.http: true if that is meant',
      holds: ({ baseURL, network }) => !baseURL.startsWith('http:') || network.http,
      field: 'baseURL',
    },
  ],
)

/** A provider's address and credential. */
export const modelProviderSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('ModelProvider'),
  metadata,
  spec,
  /** Conditions: Accepted, ResolvedRefs, Healthy, Ready. */
  status: z.looseObject({ observedGeneration, conditions: conditions.optional() }).optional(),
})

export type ModelProvider = z.infer<typeof modelProviderSchema>

/** Names its row of quirks where the address does not say it: `vllm`, `sglang`, `tgi`, … */
export const quirksAnnotation = 'modelgateway.dev/quirks'
