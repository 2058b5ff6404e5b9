import { z } from 'zod'
import { apiVersion, condition, metadata, resourceName, secretKeyRef } from './resource.ts'

/** Longest headers, in characters, and most of them. */
const headersMax = 32
const headerLengthMax = 4096

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('None') }),
  z.strictObject({ type: z.literal('Bearer'), secretRef: secretKeyRef }),
  /** As this api's keys are sent: `api-key: …` (AzureOpenAI), `Authorization: Api-Key …` (YandexGPT), else as Bearer. */
  z.strictObject({ type: z.literal('ApiKey'), secretRef: secretKeyRef }),
  z.strictObject({ type: z.literal('Header'), headerName: headerName(), secretRef: secretKeyRef }),
])

const spec = z.strictObject({
  api: z.enum(['OpenAI', 'AzureOpenAI', 'Anthropic', 'Gemini', 'Bedrock', 'YandexGPT', 'GigaChat']),
  baseURL: z
    .url({ protocol: /^https?$/, error: 'must be an address like https://api.openai.com/v1' })
    .max(2048)
    .refine((text) => !hasUserInfo(text), { error: 'must hold no user name and no password' }),
  /** Plain http, and loopback or private addresses, must be asked for. */
  network: z
    .strictObject({ http: z.boolean().default(false), privateAddresses: z.boolean().default(false) })
    .default({ http: false, privateAddresses: false }),
  auth: auth.default({ type: 'None' }),
  headers: z
    .array(z.strictObject({ name: headerName(), value: z.string().max(headerLengthMax) }))
    .max(headersMax)
    .default([]),
  limits: z.strictObject({ requestsPerMinute: z.int().min(1).max(100_000_000).optional() }).default({}),
  tls: z.strictObject({ caSecretRef: z.strictObject({ name: resourceName }).optional() }).default({}),
})

/** A provider's address and credential. */
export const modelProviderSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('ModelProvider'),
  metadata,
  spec,
  /** Conditions: Accepted, ResolvedRefs, Healthy, Ready. */
  status: z
    .looseObject({ observedGeneration: z.int().optional(), conditions: z.array(condition).optional() })
    .optional(),
})

export type ModelProvider = z.infer<typeof modelProviderSchema>

/** Names its row of quirks where the address does not say it: `vllm`, `sglang`, `tgi`, … */
export const quirksAnnotation = 'modelgateway.dev/quirks'

function headerName() {
  return z
    .string()
    .max(253)
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header')
}

function hasUserInfo(text: string): boolean {
  return /^https?:\/\/[^/?#]*@/i.test(text)
}
