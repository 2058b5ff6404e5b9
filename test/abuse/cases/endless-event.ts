import { type Step, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const model = 'abuse/endless-event'
const streams = 12
const comments: Step = { send: ':\n'.repeat(500_000) }
/** A MiB each, without a blank line: 12 streams of 10 MiB/s are a provider's 1 Gbit/s. */
const pieces: readonly Step[] = [
  { send: `data: ${'x'.repeat(1_000)}\n`.repeat(1_024) },
  { send: 'data:\n'.repeat(170_000) },
  { send: `data: ${'x'.repeat(1_048_000)}` },
  comments,
]

export const endlessEvent: AbuseCase = {
  name: 'endless-event',
  promise:
    'One line without an end, or lines without a blank one between them, are bounded: the process stays, 12 such streams are bad answers.',
  customers: { asker: {} },
  models: { [model]: {} },
  script: (provider) =>
    provider.answer(model, (_, attempt) => {
      const piece = pieces[attempt % pieces.length] ?? comments
      return {
        headers: streamHeaders,
        steps: Array.from({ length: 128 }, () => [piece, { waitMs: 100 }]).flat(),
      }
    }),
  growthMiBMax: 1_000, // 12 events of 32 Mi characters, and what the collector has not taken yet
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let n = 0
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], stream: true }
  await repeat({ forMs }, { lanes: streams, everyMs: 1_000 }, async () => {
    statuses.add((await chat(port, keys.asker ?? '', body, { api: apiOf(n++) })).status)
  })
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [502, 503]) }
}
