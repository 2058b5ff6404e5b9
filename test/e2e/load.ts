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
  /** Attempts before it that failed, and that SDKs retry by themselves. */
  readonly earlier: readonly Call[]
  /** 0: no answer came. */
  readonly status: number
  readonly requestId: string | undefined
  /** The whole answer came, to its end. */
  readonly isWhole: boolean
  /** What went wrong, in words. */
  readonly fault?: string
}

export type Ask = { readonly pieces: number; readonly everyMs: number; readonly stream: boolean }

/** One chat with the journal provider, through the ingress, as OpenAI's SDKs ask: what they retry is asked twice again. */
export async function chatAsSdk(key: string, ask: Ask): Promise<Call> {
  const earlier: Call[] = []
  for (;;) {
    const call = await chat(key, ask)
    if (!isRetriedBySdks(call) || earlier.length === sdkRetriesMax) return { ...call, earlier }
    earlier.push(call)
    await pause(retryAfterMs)
  }
}

/** No connection or no answer, a timeout, a conflict, a limit, or an error of the server. */
function isRetriedBySdks({ status }: Call): boolean {
  return status === 0 || [408, 409, 429].includes(status) || status >= 500
}

/** How many requests fail for clients that do not retry, and for SDKs. */
export function failuresOf(calls: readonly Call[]): string {
  const first = calls.map((call) => call.earlier[0] ?? call).filter(({ isWhole }) => !isWhole)
  const last = calls.filter(({ isWhole }) => !isWhole)
  return `of ${calls.length} requests failed without retries: ${counted(first)}; with those of SDKs: ${counted(last)}`
}

function counted(failed: readonly Call[]): string {
  const kinds = Object.entries(
    Object.groupBy(failed, ({ status }) => (status === 0 ? 'no answer' : status === 200 ? 'cut' : status)),
  )
  const of = kinds.map(([kind, some]) => `${some?.length} × ${kind}`).join(', ')
  return `${failed.length}${of && ` (${of})`}`
}

/** One chat with the journal provider, through the ingress. Nothing is tried again. */
export async function chat(key: string, ask: Ask): Promise<Call> {
  const id = randomBytes(8).toString('hex')
  const call = { id, pieces: ask.pieces, earlier: [] }
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
