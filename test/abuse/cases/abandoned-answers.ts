import { setTimeout as pause } from 'node:timers/promises'
import { goodStream, type Script, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Books, Target } from '../abuse-case.ts'
import { apiOf, clientApis } from '../support/client-apis.ts'
import { plainAnswer, usageOf } from '../support/hostile-answers.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const model = 'abuse/abandoned'
/** 10 and 600 ₽ per 1M tokens. */
const prices = { inputNano: 10_000n, outputNano: 600_000n }
/** What the provider counts for each: a prompt of about 10,000 tokens, and a response that no client reads. */
const [promptTokens, outputTokens] = [10_000, 4_000]
const answerNano = BigInt(promptTokens) * prices.inputNano + BigInt(outputTokens) * prices.outputNano
const content = 'All work and no play makes Jack a dull boy. '.repeat(1_000)
/** Measured from the request to the provider. By then, the client has disconnected. */
const answersAfterMs = 900

const obtainedName = '₽ obtained'

/** Ways to abandon a response. */
const ways = [
  { options: { leaveAfterMs: 60 }, stream: false },
  { options: { leaveAfterMs: 500 }, stream: true },
  { options: { headers: { 'x-gateway-timeout-ms': '300' } }, stream: false },
  { options: { headers: { 'x-gateway-timeout-ms': '300' } }, stream: true },
] as const

/** Answers that the provider gave, and bills, since the last report. It runs in the thread of the attack. */
let answered = 0

export const abandonedAnswers: AbuseCase = {
  name: 'abandoned-answers',
  promise:
    'Who disconnects, or gives no time for an answer, pays what its provider counted, before the first content and after it.',
  customers: { impatient: {} },
  models: { [model]: prices },
  script: (provider) =>
    provider.answer(model, ({ body }) => {
      answered += 1
      return answerOf(body.stream === true)
    }),
  growthMiBMax: 150,
  attack,
  readFigures: ({ impatient }) => ({ '₽ paid': paidBy(impatient) }),
  findFaults({ impatient }, figures) {
    const { [obtainedName]: obtained = 0 } = figures
    const paid = paidBy(impatient)
    return obtained > 0 && obtained <= 1.01 * paid ? [] : [`${obtained} ₽ were obtained, and ${paid} ₽ paid`]
  },
}

function answerOf(isStream: boolean): Script {
  const usage = usageOf(promptTokens, outputTokens)
  const silentMs = answersAfterMs
  if (!isStream) return { silentMs, steps: [{ send: plainAnswer({ content: 'Hi' }, usage) }] }
  const { role, say, finish, usage: count, done } = goodStream
  return { silentMs, headers: streamHeaders, steps: [role, say('Hi'), finish(), count(usage), done] }
}

function paidBy(books: Books | undefined): number {
  return Number(books?.costsNano.reduce((sum, cost) => sum + cost, 0n) ?? 0n) / 1e9
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let turn = 0
  const sent = await repeat(
    { forMs },
    { lanes: 8, everyMs: 300, atLeast: ways.length * clientApis.length },
    async () => {
      const api = apiOf(turn, ways.length)
      const { options, stream } = ways[turn++ % ways.length] ?? ways[0]
      const messages = [{ role: 'user', content }]
      const body = { model, messages, stream, max_tokens: 5_000 }
      statuses.add((await chat(port, keys.impatient ?? '', body, { ...options, api })).status)
    },
  )
  await pause(2 * answersAfterMs) // the last ones are still to be answered
  const obtained = (answered * Number(answerNano)) / 1e9
  answered = 0
  return { figures: { sent, [obtainedName]: obtained }, breaches: onlyThese(statuses.counts, [504, 0]) }
}
