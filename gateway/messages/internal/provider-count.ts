import type { Backend } from '../../routing/route-table.ts'
import type { BackendRelay, OwnRequest } from '../../upstream/provider-adapter.ts'
import { createBodyCollector, type ProviderCalls } from '../../upstream/provider-call.ts'
import { findRelay } from '../../upstream/relay.ts'
import { fieldsOf, findJson } from '../../wire/json-fields.ts'
import { writeJson } from '../../wire/json-writer.ts'
import { workThrough } from '../../wire/turns.ts'

/** Longer, and the estimate is the better answer. */
const answerMs = 2_000
const answerBytesMax = 64 * 1024

/** Asks the first backend of a model that speaks the client's API; `undefined`: none does, or it did not answer in time. Never throws. */
export async function countAtProvider(
  calls: ProviderCalls,
  backends: readonly Backend[],
  own: OwnRequest,
  bodyBytes: number,
): Promise<number | undefined> {
  const byPriority = backends.toSorted((one, other) => one.priority - other.priority)
  for (const backend of byPriority) {
    const found = findRelay(own, backend.dialect)
    if (found?.relay.counts !== undefined) return askOne(calls, backend, found, own, bodyBytes)
  }
  return undefined
}

async function askOne(
  calls: ProviderCalls,
  { dialect, provider }: Backend,
  { relay, urls }: BackendRelay,
  own: OwnRequest,
  bodyBytes: number,
): Promise<number | undefined> {
  const asked = { own, mode: 'plain', dialect, outputTokensMax: null } as const
  const { json, headers, version } = await workThrough(relay.write(asked), bodyBytes)
  const body = await writeJson(json, bodyBytes)
  const call = {
    url: relay.counts?.urlOf(urls.plain) ?? '',
    access: provider.access,
    headers: { ...headers, ...provider.headers, ...version },
    body,
    connectMs: answerMs,
    firstByteMs: answerMs,
    idleMs: answerMs,
    answerBytesMax,
  }
  const text = await answerOf(calls, call)
  return text === undefined ? undefined : relay.counts?.read(fieldsOf(findJson(text)) ?? {})
}

function answerOf(
  calls: ProviderCalls,
  request: Parameters<ProviderCalls['call']>[0],
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const answer = createBodyCollector()
  let isWhole = false
  const fail = () => resolve(undefined)
  calls.call(request, {
    onHeaders(status) {
      isWhole = status === 200
    },
    onData(bytes) {
      answer.push(bytes)
      return 'something'
    },
    onEnd: () => resolve(isWhole ? answer.text() : undefined),
    onFault: fail,
    onCrash: fail,
  })
  return promise
}
