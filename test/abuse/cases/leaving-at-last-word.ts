import { goodStream, type Script, type Step, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { usageOf } from '../support/hostile-answers.ts'
import { repeat } from '../support/raw-client.ts'

/** APIs in which only the provider's usage reveals the cost of a response. */
const ways = {
  'abuse/hidden-reasoning': { reasoning_effort: 'high' },
  'abuse/file-in-prompt': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUFB' } },
        ],
      },
    ],
  },
  'abuse/reasoning-details': {},
}
const models = Object.keys(ways)
const lastWord = 'That is all.'
const completionTokens = 900
const costNano = 20n * 10_000n + BigInt(completionTokens) * 30_000n

export const leavingAtLastWord: AbuseCase = {
  name: 'leaving-at-last-word',
  promise: 'Who closes at the last word pays what the provider counted, reasoning and files included.',
  customers: { leaver: {} },
  models: Object.fromEntries(models.map((model) => [model, {}])),
  script(provider) {
    for (const model of models) provider.answer(model, answerOf(model))
  },
  growthMiBMax: 150,
  attack,
  findFaults({ leaver }) {
    const costs = leaver?.costsNano ?? []
    const cheap = costs.filter((cost) => cost !== costNano)
    if (costs.length === 0) return ['nothing was booked']
    return cheap.length === 0
      ? []
      : [`${cheap.length} of ${costs.length} answers cost ${cheap[0]} nano-rubles, not ${costNano}`]
  },
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
      usage(usageOf(20, completionTokens)),
      done,
    ],
  }
}

async function attack({ port, keys, forMs }: Target) {
  let n = 0
  const sent = await repeat({ forMs }, { lanes: 6, everyMs: 300 }, async () => {
    const model = models[n++ % models.length] ?? ''
    const messages = [{ role: 'user', content: 'Hi' }]
    const extra = ways[model as keyof typeof ways]
    await leaveAtLastWord(port, keys.leaver ?? '', {
      model,
      messages,
      stream: true,
      max_tokens: 1_000,
      ...extra,
    })
  })
  return { figures: { sent }, breaches: [] }
}

async function leaveAtLastWord(port: number, key: string, body: object): Promise<void> {
  const leaving = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
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
}
