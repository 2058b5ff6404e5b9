import { type ModelProvider, modelProviderSchema } from '#crds/model-provider'
import { modelRouteSchema } from '#crds/model-route'
import { apiVersion } from '#crds/resource'
import { anthropicExamples, type ExampleModel, geminiExamples, openAiExamples } from './example-models.ts'
import type { Folder, Manifest } from './read-folder.ts'

/** A provider whose key in the environment adds some of its models. */
type Vendor = {
  /** `openai`: models are `openai/…`, and key "apiKey" of the Secret "openai" is OPENAI_API_KEY (`secret.ts`). */
  readonly name: string
  readonly provider: ModelProvider
  readonly models: readonly ExampleModel[]
}

const vendors: readonly Vendor[] = [
  vendor('openai', 'OpenAI', 'https://api.openai.com/v1', openAiExamples),
  vendor('anthropic', 'Anthropic', 'https://api.anthropic.com/v1', anthropicExamples),
  vendor('gemini', 'Gemini', 'https://generativelanguage.googleapis.com/v1beta', geminiExamples),
]

/**
 * Manifests added by `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` and `GEMINI_API_KEY` in the environment: the provider and some of
 * its models, except models that the folder routes itself.
 */
export function manifestsOfEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { manifests }: Folder,
): readonly Manifest[] {
  const routed = new Set(
    manifests.map(({ resource }) => (resource.kind === 'ModelRoute' ? resource.spec.model : '')),
  )
  return vendors.flatMap(({ name, provider, models }) => {
    const variable = `${name.toUpperCase()}_API_KEY`
    if (!environment[variable]) return []
    const position = { file: variable, line: 1 }
    const routes = models
      .filter(({ model }) => !routed.has(`${name}/${model}`))
      .map((model) => routeTo(name, provider, model))
    return [provider, ...routes].map((resource) => ({ resource, position, text: '' }))
  })
}

function routeTo(name: string, { metadata }: ModelProvider, { model, ...spec }: ExampleModel) {
  return modelRouteSchema.parse({
    apiVersion,
    kind: 'ModelRoute',
    metadata: { name: `${metadata.name}.${model}` },
    spec: {
      ...spec,
      model: `${name}/${model}`,
      backends: [{ name: 'main', providerRef: { name: metadata.name }, model }],
    },
  })
}

function vendor(
  name: string,
  api: ModelProvider['spec']['api'],
  baseURL: string,
  models: readonly ExampleModel[],
): Vendor {
  const auth = { type: 'ApiKey', secretRef: { name, key: 'apiKey' } }
  const metadata = { name: `${name}-from-environment` }
  const provider = modelProviderSchema.parse({
    apiVersion,
    kind: 'ModelProvider',
    metadata,
    spec: { api, baseURL, auth },
  })
  return { name, provider, models }
}
