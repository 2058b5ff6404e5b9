import { z } from 'zod'
import { resourceName } from '#crds/resource'

/** The relevant part of Kubernetes' Secret. */
export const secretSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: z.looseObject({ name: resourceName }),
  data: z.record(z.string(), z.base64({ error: 'must be base64' })).default({}),
  stringData: z.record(z.string(), z.string({ error: 'must be a string; put it in quotes' })).default({}),
})

export type Secret = z.infer<typeof secretSchema>

/** The value of one key, or `undefined`. As in Kubernetes, `stringData` takes precedence. */
export function findSecretValue({ data, stringData }: Secret, key: string): string | undefined {
  const encoded = data[key]
  const decoded = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
  return stringData[key] ?? decoded
}

/**
 * The environment variable that replaces a key of a Secret: `NAME_KEY` in upper snake case. For example, the key
 * `apiKey` of the Secret `openai` is `OPENAI_API_KEY`.
 */
export function variableOf(name: string, key: string): string {
  return `${name}_${key}`
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
}
