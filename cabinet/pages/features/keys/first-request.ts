import type { Answer } from '../../api/calls.ts'

type PricedModel = Answer<'GET /models/models-with-pricing'>['data'][number]

/**
 * A command that makes a first request with a key. Pure.
 *
 * @param allowed models that the key may use; `null`: all.
 */
export function firstRequest({
  baseUrl,
  secret,
  models,
  allowed,
  greeting,
}: {
  readonly baseUrl: string
  readonly secret: string
  readonly models: readonly PricedModel[]
  readonly allowed: readonly string[] | null
  readonly greeting: string
}): string {
  const usable = models.filter(({ id }) => mayUse(allowed, id))
  const model = usable.find(({ type }) => type === 'chat') ?? usable[0]
  const isEmbedding = model?.type === 'embedding'
  const said = isEmbedding ? { input: greeting } : { messages: [{ role: 'user', content: greeting }] }
  const body = JSON.stringify({ model: model?.id ?? 'provider/model', ...said }).replaceAll("'", "'\\''")
  return [
    `curl ${baseUrl}/${isEmbedding ? 'embeddings' : 'chat/completions'} \\`,
    `  -H "Authorization: Bearer ${secret}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join('\n')
}

/** Whether a key with this list may use a model; `null`: all. Pure. */
export function mayUse(allowed: readonly string[] | null, model: string): boolean {
  const covers = (entry: string) =>
    entry.endsWith('/*') ? model.startsWith(entry.slice(0, -1)) : entry === model
  return allowed === null || allowed.some(covers)
}
