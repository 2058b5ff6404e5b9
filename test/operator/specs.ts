import { z } from 'zod'
import { apiKeySchema } from '#crds/api-key'
import { modelProviderSchema } from '#crds/model-provider'
import { modelRouteSchema } from '#crds/model-route'
import { apiVersion } from '#crds/resource'

/** Each kind of this project, and the schema that reads it. */
export const schemas = {
  ApiKey: apiKeySchema,
  ModelProvider: modelProviderSchema,
  ModelRoute: modelRouteSchema,
} as const

export type Kind = keyof typeof schemas

/** The least that each kind must say. */
export const bareSpecs = {
  ApiKey: { organization: 'acme' },
  ModelProvider: { api: 'OpenAI', baseURL: 'https://api.openai.com/v1' },
  ModelRoute: {
    model: 'openai/gpt-4o-mini',
    free: true,
    backends: [{ name: 'main', providerRef: { name: 'openai' }, model: 'gpt-4o-mini' }],
  },
} as const satisfies Record<Kind, object>

/** An object with the bare spec of its kind, changed; a field that is `undefined` is not sent. */
export function objectOf(kind: Kind, change: object = {}, name = 'x') {
  return { apiVersion, kind, metadata: { name }, spec: { ...bareSpecs[kind], ...change } }
}

/** zod's messages for an object as it comes off the wire: `spec.backends[0].name: must be …`. */
export function faultsOf(kind: Kind, object: object): readonly string[] {
  const { error } = schemas[kind].safeParse(JSON.parse(JSON.stringify(object)))
  return (error?.issues ?? []).map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`)
}
