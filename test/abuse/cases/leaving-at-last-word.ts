import { paths } from '../../bench/load.ts'
import { goodStream, type Script, type Step, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Books, Target } from '../abuse-case.ts'
import { apiOf, bodyIn, type ClientApi, clientApis } from '../support/client-apis.ts'
import { usageOf } from '../support/hostile-answers.ts'
import { createTally, repeat } from '../support/raw-client.ts'
import { figureOfWay, paidRubOf, readWays } from '../support/ways.ts'

const user = (part: object) => [{ role: 'user', content: [part] }]
const [mediaType, data] = ['application/pdf', 'QUFB']
const file_data = `data:${mediaType};base64,${data}`

/** Requests in which only the provider's usage reveals the cost of a response. */
const ways: Readonly<Record<string, Readonly<Record<ClientApi, object>>>> = {
  'abuse/hidden-reasoning': {
    chat: { reasoning_effort: 'high' },
    responses: { reasoning: { effort: 'high' } },
    messages: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
  },
  'abuse/file-in-prompt': {
    chat: { messages: user({ type: 'file', file: { filename: 'a.pdf', file_data } }) },
    responses: { input: user({ type: 'input_file', filename: 'a.pdf', file_data }) },
    messages: {
      messages: user({ type: 'document', source: { type: 'base64', media_type: mediaType, data } }),
    },
  },
  'abuse/reasoning-details': { chat: {}, responses: {}, messages: {} },
}
const models = Object.keys(ways)
const lastWord = 'That is all.'
const promptTokens = 20
const completionTokens = 900
/** 150 and 600 ₽ per 1M tokens. */
const prices = { inputNano: 150_000n, outputNano: 600_000n }
const costNano = BigInt(promptTokens) * prices.inputNano + BigInt(completionTokens) * prices.outputNano
/** Responses that the provider has begun for each model since the last report. It generates, and bills, all of them. */
const begun = createTally()

export const leavingAtLastWord: AbuseCase = {
  name: 'leaving-at-last-word',
  promise: 'Who closes at the last word pays what the provider counted, reasoning and files included.',
  customers: Object.fromEntries(models.map((model) => [model, { balanceNano: 30_000_000_000n }])),
  models: Object.fromEntries(models.map((model) => [model, prices])),
  script(provider) {
    for (const model of models)
      provider.answer(model, () => {
        begun.add(model)
        return answerOf(model)
      })
  },
  growthMiBMax: 150,
  attack,
  readFigures: (books) => ({ '₽ paid': models.reduce((sum, model) => sum + paidRubOf(books[model]), 0) }),
  readWays: (books, figures) => readWays(models, books, figures),
  findFaults: (books, figures) =>
    models.flatMap((model) => faultsOf(model, books[model], figures[figureOfWay(model, '₽')] ?? 0)),
}

function faultsOf(model: string, books: Books | undefined, obtainedRub: number): readonly string[] {
  const costs = books?.costsNano ?? []
  const cheap = costs.filter((cost) => cost !== costNano)
  const paidRub = paidRubOf(books)
  return [
    ...(costs.length === 0 ? [`${model}: nothing was booked`] : []),
    ...(cheap.length === 0
      ? []
      : [
          `${model}: ${cheap.length} of ${costs.length} answers cost ${cheap[0]} nano-rubles, not ${costNano}`,
        ]),
    ...(obtainedRub > 1.01 * paidRub
      ? [`${model}: ${obtainedRub.toFixed(3)} ₽ obtained, ${paidRub.toFixed(3)} ₽ paid`]
      : []),
    ...(Number(books?.balanceNano ?? 0n) < 0 ? [`${model}: the balance is below zero`] : []),
  ]
}

function answerOf(model: string): Script {
  const { role, say, delta, finish, usage, done } = goodStream
  const details = [{ type: 'reasoning.text', text: 'Let me think about it for a while. ' }]
  const thought: readonly Step[] =
    model === 'abuse/reasoning-details' ? [delta({ reasoning_details: details })] : []
  return {
    headers: streamHeaders,
    steps: [
      role,
      ...thought,
      say(lastWord),
      { waitMs: 300 },
      finish(),
      usage(usageOf(promptTokens, completionTokens)),
      done,
    ],
  }
}

async function attack({ port, keys, forMs }: Target) {
  const statuses = createTally()
  let n = 0
  await repeat(
    { forMs },
    { lanes: 6, everyMs: 300, atLeast: models.length * clientApis.length },
    async () => {
      const api = apiOf(n, models.length)
      const model = models[n++ % models.length] ?? ''
      const messages = [{ role: 'user', content: 'Hi' }]
      const body = {
        ...bodyIn(api, { model, messages, stream: true, max_tokens: 1_000 }),
        ...ways[model]?.[api],
      }
      const status = await leaveAtLastWord(port, keys[model] ?? '', api, body)
      statuses.add(figureOfWay(model, status))
    },
  )
  const got = Object.entries(begun.counts).map(([model, count]) => [
    figureOfWay(model, '₽'),
    (count * Number(costNano)) / 1e9,
  ])
  begun.clear()
  return { figures: { sent: n, ...statuses.counts, ...Object.fromEntries(got) }, breaches: [] }
}

async function leaveAtLastWord(port: number, key: string, api: ClientApi, body: object): Promise<number> {
  const leaving = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}${paths[api]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  })
  let text = ''
  try {
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString()
      if (text.includes(lastWord)) leaving.abort()
    }
  } catch {
    // it left
  }
  return response.status
}
