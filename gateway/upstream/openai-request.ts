import type { RouteDocument } from '#cabinet/catalogue-document'

export type ProviderRequest = {
  /** The JSON to send. */
  readonly bytes: Buffer
  /** Parameters that the caller sent and the route takes away, by the caller's names. */
  readonly dropped: readonly string[]
}

/** Whatever a route says, these reach the provider. */
const never = new Set(['model', 'messages', 'stream'])

/**
 * The request as an OpenAI-wire provider gets it: its own name of the model, the route's parameter rules, and
 * usage always asked for on streams (we bill by it), except where the route drops `stream_options`.
 *
 * `body` is what the caller sent and stays as it is, so that a fallback starts from it again. A null at the top
 * means absent, as with OpenAI: others refuse it. Order: null, drop, rename, defaults. What a provider needs
 * beyond its route's rules (quirks) belongs between rename and defaults.
 */
export function writeOpenAiRequest(request: {
  readonly body: { readonly [parameter: string]: unknown }
  readonly model: string
  readonly mode: 'plain' | 'stream'
  readonly parameters: RouteDocument['parameters']
}): ProviderRequest {
  const { drop, rename, defaults } = request.parameters
  const unwanted = new Set(drop.filter((name) => !never.has(name)))
  const dropped: string[] = []
  // A Map, not an object: a parameter named __proto__ is plain data.
  const sent = new Map<string, unknown>()
  for (const [name, value] of Object.entries(request.body)) {
    if (value === null || value === undefined) continue
    if (unwanted.has(name)) dropped.push(name)
    else sent.set(name, value)
  }
  for (const [name, newName] of Object.entries(rename)) {
    if (never.has(name) || !sent.has(name)) continue
    if (!sent.has(newName)) sent.set(newName, sent.get(name))
    sent.delete(name)
  }
  for (const [name, value] of Object.entries(defaults)) if (!sent.has(name)) sent.set(name, value)
  sent.set('model', request.model)
  sent.set('stream', request.mode === 'stream')
  if (request.mode === 'plain') sent.delete('stream_options')
  else if (!unwanted.has('stream_options')) sent.set('stream_options', withUsage(sent.get('stream_options')))
  return {
    bytes: Buffer.from(JSON.stringify(Object.fromEntries(sent))),
    dropped: dropped.filter((name) => name !== 'stream_options'),
  }
}

function withUsage(options: unknown): object {
  return { ...(typeof options === 'object' ? options : {}), include_usage: true }
}
