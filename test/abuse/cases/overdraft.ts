import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf } from '../support/client-apis.ts'
import { plainAnswer, usageOf } from '../support/hostile-answers.ts'
import { ask, chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const model = 'abuse/talkative'
const rub = 1_000_000_000n
/** 600 ₽ per 1M tokens: one whole answer is almost 10 ₽. */
const outputNano = 600_000n

export const overdraft: AbuseCase = {
  name: 'overdraft',
  promise:
    'No request and no number of parallel ones takes a balance below zero, even if the provider writes without end.',
  customers: { greedy: { balanceNano: 30n * rub }, parallel: { balanceNano: 30n * rub } },
  models: { [model]: { inputNano: 0n, outputNano } },
  script: (provider) =>
    provider.answer(model, {
      silentMs: 50,
      steps: [{ send: plainAnswer({ content: 'Hi' }, usageOf(0, 1_000_000)) }],
    }),
  growthMiBMax: 150,
  attack,
  findFaults(books) {
    return Object.entries(books)
      .filter(([, { balanceNano }]) => balanceNano < 0n)
      .map(([name, { balanceNano }]) => `the balance of ${name} is ${balanceNano} nano-rubles`)
  },
}

async function attack({ port, keys, forMs }: Target) {
  const { greedy = '', parallel = '' } = keys
  const statuses = createTally()
  const messages = [{ role: 'user', content: 'Hi' }]
  const { status } = await ask(port, greedy, { model, messages, n: 128, max_tokens: 15_600 })
  const breaches = status === 402 ? [] : [`n=128, max_tokens=15600 on 30 ₽ got ${status}`]
  let n = 0
  await repeat({ forMs }, { lanes: 13, everyMs: 100 }, async () => {
    const answer = await chat(port, parallel, { model, messages }, { api: apiOf(n++) })
    statuses.add(answer.status)
  })
  return { figures: statuses.counts, breaches: [...breaches, ...onlyThese(statuses.counts, [200, 402, 429])] }
}
