import { modelProviderSchema } from '#crds/model-provider'
import { modelRouteSchema } from '#crds/model-route'
import { apiVersion } from '#crds/resource'
import { openAiExamples } from './openai-examples.ts'
import type { Folder, Manifest } from './read-folder.ts'

const variable = 'OPENAI_API_KEY'
const provider = 'openai-from-environment'

/**
 * Manifests added by `OPENAI_API_KEY` in the environment: OpenAI and some of its models, except models that the folder
 * routes itself.
 */
export function openAiManifests(
  environment: Readonly<Record<string, string | undefined>>,
  { manifests }: Folder,
): readonly Manifest[] {
  if (!environment[variable]) return []
  const routed = new Set(
    manifests.map(({ resource }) => (resource.kind === 'ModelRoute' ? resource.spec.model : '')),
  )
  const position = { file: variable, line: 1 }
  const routes = openAiExamples
    .filter(({ model }) => !routed.has(`openai/${model}`))
    .map(({ model, ...spec }) =>
      modelRouteSchema.parse({
        apiVersion,
        kind: 'ModelRoute',
        metadata: { name: `${provider}.${model}` },
        spec: {
          ...spec,
          model: `openai/${model}`,
          backends: [{ name: 'main', providerRef: { name: provider }, model }],
        },
      }),
    )
  return [openAi, ...routes].map((resource) => ({ resource, position, text: '' }))
}

// Key "apiKey" of the Secret "openai" is OPENAI_API_KEY; see `secret.ts`.
const openAi = modelProviderSchema.parse({
  apiVersion,
  kind: 'ModelProvider',
  metadata: { name: provider },
  spec: {
    api: 'OpenAI',
    baseURL: 'https://api.openai.com/v1',
    auth: { type: 'Bearer', secretRef: { name: 'openai', key: 'apiKey' } },
  },
})
