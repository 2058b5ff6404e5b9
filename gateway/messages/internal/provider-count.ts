import { headersOf } from '../../exchange/call-target.ts'
import type { Backend } from '../../routing/route-table.ts'
import type { OwnRequest } from '../../upstream/provider-adapter.ts'
import type { ProviderCalls } from '../../upstream/provider-call.ts'
import { findRelay } from '../../upstream/relay.ts'
import { readAnswer } from '../../upstream/whole-answer.ts'
import { fieldsOf, findJson } from '../../wire/json-fields.ts'
import { writeJson } from '../../wire/json-writer.ts'
import { workThrough } from '../../wire/turns.ts'

/** Longer, and the estimate is the better answer. */
const answerMs = 2_000
const answerBytesMax = 64 * 1024

/** Asks the first backend of a model that speaks the client's API; `undefined`: none does, or it did not answer in time. */
export async function countAtProvider(
  calls: ProviderCalls,
  backends: readonly Backend[],
  own: OwnRequest,
  bodyBytes: number,
): Promise<number | undefined> {
  for (const { dialect, provider } of backends.toSorted((one, other) => one.priority - other.priority)) {
    const { relay, urls } = findRelay(own, dialect) ?? {}
    if (relay?.counts === undefined || urls === undefined) continue
    const asked = { own, mode: 'plain', dialect, outputTokensMax: null } as const
    const { json, ...to } = await workThrough(relay.write(asked), bodyBytes)
    const read = await readAnswer(calls, {
      url: relay.counts.urlOf(urls.plain),
      access: provider.access,
      headers: headersOf(provider.headers, to),
      body: await writeJson(json, bodyBytes),
      connectMs: answerMs,
      withinMs: answerMs,
      readBytesMax: answerBytesMax,
      answerBytesMax,
    })
    const isCount = !('fault' in read) && read.status === 200
    return isCount ? relay.counts.read(fieldsOf(findJson(read.text)) ?? {}) : undefined
  }
  return undefined
}
