import type { ProviderDocument, QuirksName, RouteDocument } from '#core/catalog/catalog-document'
import { anthropicAdapter } from './internal/adapters/anthropic/adapter.ts'
import { geminiAdapter } from './internal/adapters/gemini/adapter.ts'
import { openAiAdapter } from './internal/adapters/openai/adapter.ts'
import { responsesAdapter } from './internal/adapters/responses/adapter.ts'
import { extraFields } from './internal/extra-fields.ts'
import { providerRows } from './internal/provider-rows.ts'
import type { ProviderQuirks, ProviderRow } from './internal/quirks.ts'
import { routesAlone } from './internal/routes-alone.ts'
import { originOf } from './internal/signature-origin.ts'
import type { CompiledQuirks, Dialect, ProviderAdapter } from './provider-adapter.ts'

/** The properties of a provider that decide its adapter. */
export type DialectSource = Pick<ProviderDocument, 'api' | 'baseUrl' | 'quirks' | 'template'> &
  Partial<Pick<ProviderDocument, 'name'>>

/** Parameters that reach the provider regardless of the route's rules. */
const untouchable: ReadonlySet<string> = new Set(['model', 'messages', 'stream'])
/**
 * Only the request may set these (`crds/model-route.ts`): the hold and the format of the response depend on
 * them.
 */
const ofRequests: ReadonlySet<string> = new Set([...untouchable, 'input', 'n'])

/**
 * Combines the rules of a provider's kind, the model's name and the route.
 *
 * A model is identified by the backend's name for it. If that is not recognized (Azure's deployments), it is
 * identified by the name that clients use.
 */
export function createDialect(
  provider: DialectSource,
  backendModel: string,
  route: Pick<RouteDocument, 'model' | 'type' | 'parameters' | 'maxOutputTokens'>,
): Dialect {
  const quirks = quirksFor(kindOf(provider), [backendModel, route.model])
  const { drop, rename, defaults } = route.parameters
  const renamed = Object.entries(rename).filter(
    ([from, to]) => from !== to && !untouchable.has(from) && !ofRequests.has(to),
  )
  const filled = Object.entries(defaults).filter(([name]) => !ofRequests.has(name))
  const limitNames = limitNamesBehind(renamed)
  const touched = [...drop, ...renamed.flat(), ...filled.map(([name]) => name)]
  const template = quirks.modelTemplate?.[route.type]
  const adapter =
    quirks.chat === 'responses' && route.type === 'chat' ? responsesAdapter : adapterOf(provider)
  const place = { baseUrl: provider.baseUrl, quirks, type: route.type, model: backendModel }
  const { relay } = adapter
  return {
    type: route.type,
    adapter,
    origin: originOf(provider.name ?? ''),
    urls: adapter.urlsOf(place),
    relay:
      relay?.api === quirks.native && relay !== undefined ? { relay, urls: relay.urlsOf(place) } : undefined,
    model: template === undefined ? backendModel : fillModel(template, backendModel, provider.template ?? {}),
    quirks,
    route: {
      drop: new Set(
        [...drop, ...routesAlone, ...(quirks.notFromCallers ?? [])].filter((name) => !untouchable.has(name)),
      ),
      rename: renamed,
      defaults: filled.map(([name, value]) => ({
        name,
        value,
        saidAs: limitNames.includes(name) ? limitNames : namesOfParameter(name, quirks, route.type),
      })),
      own: new Set([...renamed.map(([, to]) => to), ...filled.map(([name]) => name)]),
      defaultsBytes: filled.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(Object.fromEntries(filled))),
      limitNames,
      limit: limitNames.some((name) => touched.includes(name) || name in (quirks.clamp ?? {}))
        ? 'ruled'
        : 'as_asked',
      outputTokensMax: route.maxOutputTokens,
    },
  }
}

/** Renamed in order, so that a limit may be renamed twice. */
function limitNamesBehind(renamed: Dialect['route']['rename']): readonly string[] {
  const names = new Set(['max_completion_tokens', 'max_tokens'])
  for (const [from, to] of renamed) if (names.has(from)) names.add(to)
  return [...names]
}

/** All names of one parameter: the given one, and what OpenAI or the provider's kind calls it. */
function namesOfParameter(
  name: string,
  quirks: ProviderQuirks,
  type: RouteDocument['type'],
): readonly string[] {
  const renames = type === 'embedding' ? quirks.embeddings.rename : quirks.rename
  const pairs = Object.entries(renames ?? {}).filter((pair) => pair.includes(name))
  return [name, ...pairs.flat()]
}

/** The headers that a provider's kind requires in addition to its own, names in lower case. */
export function kindHeadersOf(provider: DialectSource): Record<string, string> {
  const headers = Object.entries(providerRows[kindOf(provider)].headers ?? {})
  const filled = headers.map(([name, value]) => [name, fill(value, provider.template ?? {})] as const)
  // A place without a value is no header: the provider may have it under another name.
  return Object.fromEntries(filled.filter(([, value]) => !value.includes('{')))
}

/** APIs with one kind of provider unless another is named. */
const kindsOfApis: Readonly<Partial<Record<ProviderDocument['api'], QuirksName>>> = {
  YandexGPT: 'yandexgpt',
  Anthropic: 'anthropic',
  Gemini: 'gemini-native',
}

/** The kind that a provider names, else that of its api, else that of its host. */
export function kindOf({ quirks, api, baseUrl }: DialectSource): QuirksName {
  if (quirks !== undefined) return quirks
  const named = kindsOfApis[api]
  if (named !== undefined) return named
  const { host, pathname, searchParams } = new URL(baseUrl)
  const kind = api === 'AzureOpenAI' ? 'azure' : kinds.find(([, row]) => row.hosts?.test(host))?.[0]
  const isOldForm = searchParams.has('api-version') && !/\/v1\/*$/.test(pathname)
  return kind === 'azure' && isOldForm ? 'azure-deployments' : (kind ?? 'generic')
}

const kinds = Object.entries(providerRows) as readonly [QuirksName, ProviderRow][]

/** Every combination that was needed so far: at most rows × the patterns in them. */
const compiled = new Map<string, CompiledQuirks>()

function quirksFor(kind: QuirksName, names: readonly string[]): CompiledQuirks {
  const { models = [], ...row }: ProviderRow = providerRows[kind]
  const fitting = models.filter(({ name }) => names.some((given) => name.test(given)))
  const key = [kind, ...fitting.map((model) => models.indexOf(model))].join()
  const known = compiled.get(key)
  if (known !== undefined) return known
  const quirks = compile(fitting.reduce<ProviderQuirks>((merged, model) => merge(merged, model.quirks), row))
  compiled.set(key, quirks)
  return quirks
}

function merge(quirks: ProviderQuirks, own: Partial<ProviderQuirks>): ProviderQuirks {
  return { ...quirks, ...own, drop: [...(quirks.drop ?? []), ...(own.drop ?? [])] }
}

function compile(quirks: ProviderQuirks): CompiledQuirks {
  return {
    ...quirks,
    allowed: quirks.allow === undefined ? undefined : new Set([...untouchable, ...quirks.allow]),
    unwanted: new Set(quirks.drop),
    unwantedWhenReasoning: new Set(quirks.dropWhenReasoning),
    schemaKeys: new Set(quirks.schemaKeysDropped),
    extrasRefused: extraFields.filter((name) => !quirks.extrasTaken?.includes(name)),
  }
}

/** Whether a caller's parameter reaches the provider, under whatever name. */
export function isSent(name: string, { quirks, route }: Dialect): boolean {
  if (route.drop.has(name)) return false
  if (route.own.has(name) || route.rename.some(([from]) => from === name)) return true
  return quirks.allowed?.has(name) !== false && !quirks.unwanted.has(name)
}

/** The adapter of a provider's API. */
export function adapterOf({ api }: DialectSource): ProviderAdapter {
  return adapters[api] ?? openAiAdapter
}

/** Of APIs that are not OpenAI's. */
const adapters: Readonly<Partial<Record<ProviderDocument['api'], ProviderAdapter>>> = {
  Anthropic: anthropicAdapter,
  Gemini: geminiAdapter,
}

/** A model that is a whole address stays; one that names its version (`yandexgpt/rc`) needs none of the template's. */
function fillModel(template: string, model: string, values: Readonly<Record<string, string>>): string {
  if (model.includes('://')) return model
  const end = template.indexOf('{model}') + '{model}'.length
  return fill(model.includes('/') ? template.slice(0, end) : template, { ...values, model })
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place)
}
