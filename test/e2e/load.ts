import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { journalModel } from './journal.ts'
import { ingress } from './settings.ts'

/** Hosts of the release, as `one-node-values.yaml` has them. */
export const hosts = { gateway: 'api.mg.test', cabinet: 'cabinet.mg.test' } as const

/** Of OpenAI's SDKs. */
const sdkRetriesMax = 2
/** The `Retry-After` of the gateway's 503. */
const retryAfterMs = 1_000

/** An SDK's client gives up late; here nothing may take longer than its stream and what a full machine adds. */
const agent = new Agent({ connections: 256, headersTimeout: 120_000, bodyTimeout: 120_000 })

/** What a client saw of one request. */
export type Call = {
  readonly id: string
  readonly pieces: number
  /** How often it was asked again, as SDKs do by themselves after a 503. */
  readonly retries: number
  /** 0: no answer came. */
  readonly status: number
  readonly requestId: string | undefined
  /** The whole answer came, to its end. */
  readonly isWhole: boolean
  /** What went wrong, in words. */
  readonly fault?: string
}

export type Ask = { readonly pieces: number; readonly everyMs: number; readonly stream: boolean }

/** One chat with the journal provider, through the ingress, as OpenAI's SDKs ask: what is rejected with 503 twice again. */
export async function chatAsSdk(key: string, ask: Ask): Promise<Call> {
  for (let retries = 0; ; retries += 1) {
    const call = await chat(key, ask)
    if (call.status !== 503 || retries === sdkRetriesMax) return { ...call, retries }
    await pause(retryAfterMs)
  }
}

/** One chat with the journal provider, through the ingress. Nothing is tried again. */
export async function chat(key: string, ask: Ask): Promise<Call> {
  const id = randomBytes(8).toString('hex')
  const call = { id, pieces: ask.pieces, retries: 0 }
  const content = JSON.stringify({ id, pieces: ask.pieces, everyMs: ask.everyMs })
  let status = 0
  let requestId: string | undefined
  try {
    const answer = await request(new URL('/v1/chat/completions', ingress), {
      method: 'POST',
      headers: { host: hosts.gateway, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: journalModel,
        messages: [{ role: 'user', content }],
        max_tokens: ask.pieces,
        ...(ask.stream ? { stream: true } : {}),
      }),
      dispatcher: agent,
    })
    status = answer.statusCode
    requestId = answer.headers['x-gateway-request-id']?.toString()
    const text = await answer.body.text()
    const said = text.split('word ').length - 1
    const isWhole =
      status === 200 && said === ask.pieces && (!ask.stream || text.endsWith('data: [DONE]\n\n'))
    return { ...call, status, requestId, isWhole, ...(isWhole ? {} : { fault: text.slice(-300) }) }
  } catch (error) {
    return { ...call, status, requestId, isWhole: false, fault: describe(error) }
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

/** Asks at an even rate until some work has ended; answers every call, once all have ended. */
export async function loadDuring(
  key: string,
  ratePerS: number,
  ask: (turn: number) => Ask,
  work: () => Promise<void>,
  asks = chat,
): Promise<readonly Call[]> {
  const calls: Promise<Call>[] = []
  let hasEnded = false
  const startMs = performance.now()
  const asking = (async () => {
    for (let turn = 0; !hasEnded; turn += 1) {
      calls.push(asks(key, ask(turn)))
      await pause(Math.max(0, startMs + ((turn + 1) * 1000) / ratePerS - performance.now()))
    }
  })()
  try {
    await work()
  } finally {
    hasEnded = true
    await asking
  }
  return Promise.all(calls)
}
