import { streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf, clientApis } from '../support/client-apis.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const model = 'abuse/nested'
const depth = 5_000
const nested = `[{"x":${'['.repeat(depth)}${']'.repeat(depth)}}]`
const answerWith = (said: string) =>
  `{"choices":[{"index":0,"${said}":{"content":"Hello","annotations":${nested}},"finish_reason":null}]}`

export const nestedJson: AbuseCase = {
  name: 'nested-json',
  promise: "A provider's JSON nested 5,000 deep is a bad answer: 502, and nothing is charged.",
  customers: { asker: {} },
  models: { [model]: {} },
  script: (provider) =>
    provider.answer(model, ({ body }) =>
      body.stream === true
        ? { headers: streamHeaders, steps: [{ send: `data: ${answerWith('delta')}\n\n` }] }
        : { steps: [{ send: answerWith('message') }] },
    ),
  growthMiBMax: 150,
  attack,
  findFaults({ asker }) {
    const charged = asker?.costsNano.filter((cost) => cost > 0n) ?? []
    return charged.length === 0 ? [] : [`${charged.length} bad answers were charged`]
  },
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let n = 0
  await repeat({ forMs }, { lanes: 4, everyMs: 100, atLeast: 2 * clientApis.length }, async () => {
    const body = { model, messages: [{ role: 'user', content: 'Hi' }], stream: n % 2 === 0 }
    statuses.add((await chat(port, keys.asker ?? '', body, { api: apiOf(n++, 2) })).status)
  })
  return { figures: statuses.counts, breaches: onlyThese(statuses.counts, [502, 503]) }
}
