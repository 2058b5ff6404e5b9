import { type Step, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const model = 'abuse/endless-event'
const streams = 12
/** A MiB of lines, long or short, without a blank line between them; 12 streams of 10 MiB/s are a provider's 1 Gbit/s. */
const lines = `data: ${'x'.repeat(1_000)}\n`.repeat(1_024)
const shortLines = 'data:\n'.repeat(170_000)

export const endlessEvent: AbuseCase = {
  name: 'endless-event',
  promise:
    'Lines without a blank line between them are bounded: the process stays, 12 such streams are bad answers.',
  customers: { asker: {} },
  models: { [model]: {} },
  script: (provider) =>
    provider.answer(model, (_, attempt) => {
      const piece: Step = { send: attempt % 2 === 0 ? lines : shortLines }
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
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], stream: true }
  await repeat({ forMs }, { lanes: streams, everyMs: 1_000 }, async () => {
    statuses.add((await chat(port, keys.asker ?? '', body)).status)
  })
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [502, 503]) }
}
