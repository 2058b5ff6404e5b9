import { findRub } from '#core/ledger/money'
import type { Usage } from './journal.ts'
import type { RequestPlan } from './request-plan.ts'

/**
 * What a client read of one answer. `whole`: to its last byte, `[DONE]` included, errors too. `told_off`: a stream
 * that ended with an error. `cut`: the connection broke, or there never was one. `left`: the client did not wait.
 */
export type Reading = {
  readonly how: 'whole' | 'told_off' | 'cut' | 'left'
  readonly requestId: string | null
  readonly status: number | null
  /** Of an error. */
  readonly code: string | null
  /** The cost that the client received: header, or `usage.cost_rub`. */
  readonly toldNano: bigint | null
  readonly toldUsage: Usage | null
}

/**
 * A client that waits for longer than this would wait forever: it is longer than any deadline of the system
 * and any freeze.
 */
const patienceMs = 45_000

const nothingRead: Reading = {
  how: 'cut',
  requestId: null,
  status: null,
  code: null,
  toldNano: null,
  toldUsage: null,
}

/** Sends one request and reads its answer as far as it goes. Never asks again. */
export async function ask(baseUrl: string, key: string, plan: RequestPlan, body: string): Promise<Reading> {
  const leaving = new AbortController()
  const timer = setTimeout(() => leaving.abort(), plan.leavesAfterMs ?? patienceMs)
  let reading = nothingRead
  try {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
      signal: leaving.signal,
    })
    reading = { ...reading, requestId: response.headers.get('x-gateway-request-id'), status: response.status }
    const text = await response.text()
    return plan.stream && response.status === 200
      ? readStream(reading, text)
      : readPlain(reading, text, response.headers.get('x-gateway-cost-rub'))
  } catch (error) {
    if (error instanceof SyntaxError) throw error // whole, and no JSON: that is no fault of the network
    return { ...reading, how: leaving.signal.aborted ? 'left' : 'cut' }
  } finally {
    clearTimeout(timer)
  }
}

type Body = {
  readonly error?: { readonly code: string }
  readonly usage?: {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly cost_rub?: string
  }
}

function readPlain(reading: Reading, text: string, cost: string | null): Reading {
  const { error, usage } = JSON.parse(text) as Body
  return {
    ...reading,
    how: 'whole',
    code: error?.code ?? null,
    toldNano: cost === null ? null : (findRub(cost) ?? null),
    toldUsage: usageOf(usage),
  }
}

function readStream(reading: Reading, text: string): Reading {
  const events = text.split('\n\n').flatMap((frame) => (frame.startsWith('data: ') ? [frame.slice(6)] : []))
  const last = events.at(-1)
  if (last !== '[DONE]') {
    const code = last === undefined ? undefined : (JSON.parse(last) as Body).error?.code
    return { ...reading, how: code === undefined ? 'cut' : 'told_off', code: code ?? null }
  }
  const { usage } = JSON.parse(events.at(-2) ?? '{}') as Body
  const cost = usage?.cost_rub
  return {
    ...reading,
    how: 'whole',
    toldNano: cost === undefined ? null : (findRub(cost) ?? null),
    toldUsage: usageOf(usage),
  }
}

function usageOf(usage: Body['usage'] | null): Usage | null {
  if (usage === undefined || usage === null) return null
  return { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens }
}
