import type { AbuseCase, Target } from '../abuse-case.ts'
import { chat, createTally, onlyThese, repeat } from '../support/raw-client.ts'

const model = 'abuse/unanswered'
const content = 'All work and no play makes Jack a dull boy. '.repeat(1_000)
/** Of about 10,000 tokens at 10 ₽ per 1M. */
const promptNanoMin = 50_000_000n

export const unansweredPrompts: AbuseCase = {
  name: 'unanswered-prompts',
  promise:
    'A prompt whose sender gives no time for an answer, or leaves before it, is charged, and TPM keeps it.',
  customers: { impatient: {} },
  models: { [model]: {} },
  script: (provider) => provider.answer(model, { silentMs: 'forever' }),
  growthMiBMax: 150,
  attack,
  findFaults({ impatient }, { sent = 0 }) {
    const costs = impatient?.costsNano ?? []
    const free = costs.filter((cost) => cost < promptNanoMin)
    return [
      ...(free.length > 0 ? [`${free.length} of ${costs.length} prompts were free or almost`] : []),
      ...(costs.length < sent * 0.9 ? [`${sent} prompts were sent, ${costs.length} are on record`] : []),
    ]
  },
}

async function attack({ port, keys, forMs }: Target) {
  const { impatient = '' } = keys
  const statuses = createTally()
  const body = { model, messages: [{ role: 'user', content }] }
  const sent = await repeat({ forMs }, { lanes: 16, everyMs: 300 }, async () => {
    const leaves = Math.random() < 0.5
    const answer = leaves
      ? await chat(port, impatient, body, { leaveAfterMs: 500 })
      : await chat(port, impatient, body, { headers: { 'x-gateway-timeout-ms': '300' } })
    statuses.add(answer.status)
  })
  const used = await readTpmUsed(port, impatient)
  const tpm = used < sent * 1_000 ? [`${sent} prompts of 10,000 tokens: TPM counts ${used}`] : []
  return { figures: { sent, tpmUsed: used }, breaches: [...onlyThese(statuses.counts, [504, 0]), ...tpm] }
}

async function readTpmUsed(port: number, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`http://127.0.0.1:${port}/v1/key`, { headers })
  const { tpm } = (await response.json()) as { readonly tpm?: { readonly used: number } }
  return tpm?.used ?? 0
}
