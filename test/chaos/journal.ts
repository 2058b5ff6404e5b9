import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { plain } from '../support/upstream.ts'
import {
  type Behaviour,
  findTag,
  outputTokensMax,
  piece,
  pieceTokensMax,
  planOf,
  type RequestPlan,
} from './request-plan.ts'

/** One call as the provider recorded it: the most that it generated, and the cost that it reported. */
export type Call = {
  readonly behaviour: Behaviour
  /** Of the text that was written so far, or was about to be. */
  characters: number
  /** What it reported, once it has. */
  usage: Usage | null
}

export type Usage = { readonly promptTokens: number; readonly completionTokens: number }

/** A provider that follows the plan of each request, and the only record of what it did. */
export type JournalingProvider = {
  readonly url: string
  /** Calls with this tag, in order of arrival. */
  callsOf(tag: number): readonly Call[]
  stop(): Promise<void>
}

const none: readonly Call[] = []

export async function startJournalingProvider(seed: number): Promise<JournalingProvider> {
  const journal = new Map<number, Call[]>()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts).toString()
    const tag = findTag(body)
    if (tag === undefined) return void response.writeHead(400).end('{"error":{"message":"no tag"}}')
    const plan = withinLimit(planOf(seed, tag), body)
    const calls = journal.get(tag) ?? []
    const behaviour = calls.length === 0 ? plan.behaviour.first : plan.behaviour.again
    const call: Call = { behaviour, characters: 0, usage: null }
    journal.set(tag, [...calls, call])
    await play(plan, call, response)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy()) // the gateway left
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    callsOf: (tag) => journal.get(tag) ?? none,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function play(plan: RequestPlan, call: Call, response: ServerResponse): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  if (call.behaviour === 'hangs') return
  if (call.behaviour === 'status_500') {
    response.writeHead(500, { 'content-type': 'application/json' })
    response.end('{"error":{"message":"a fault of the provider"}}')
    return
  }
  await (plan.stream ? playStream : playPlain)(plan, call, response, left.signal)
}

async function playPlain(
  plan: RequestPlan,
  call: Call,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  await pause(plan.pieceEveryMs * 8, undefined, { signal })
  const text = piece.repeat(plan.pieceCount)
  const [step] = plain(text, { usage: usageOf(plan, call.behaviour) }).steps ?? []
  const body = step !== undefined && 'send' in step ? String(step.send) : ''
  response.writeHead(200, { 'content-type': 'application/json' })
  call.characters = text.length
  if (call.behaviour === 'stalls' || call.behaviour === 'cuts') {
    response.write(body.slice(0, body.length / 2))
    if (call.behaviour === 'cuts') response.destroy()
    return
  }
  noteUsage(plan, call)
  response.end(body)
}

async function playStream(
  plan: RequestPlan,
  call: Call,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(frameOf({ role: 'assistant', content: '' }, null))
  const isBroken = call.behaviour === 'stalls' || call.behaviour === 'cuts'
  for (let n = 0; n < plan.pieceCount; n += 1) {
    await pause(plan.pieceEveryMs, undefined, { signal })
    if (isBroken && n >= plan.pieceCount / 2) {
      if (call.behaviour === 'cuts') response.destroy()
      return
    }
    call.characters += piece.length
    response.write(frameOf({ content: piece }, null))
  }
  response.write(frameOf({}, 'stop'))
  const usage = usageOf(plan, call.behaviour)
  noteUsage(plan, call)
  if (usage !== null) response.write(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}

const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'x' }

function frameOf(delta: object, finish: string | null): string {
  return `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
}

/** A provider stops at the request's limit, in what it counts and in what it sends. */
function withinLimit(plan: RequestPlan, body: string): RequestPlan {
  const { max_tokens: limit = outputTokensMax } = JSON.parse(body) as { max_tokens?: number }
  const piecesMax = Math.max(1, Math.floor(limit / pieceTokensMax))
  return {
    ...plan,
    completionTokens: Math.min(plan.completionTokens, limit),
    pieceCount: Math.min(plan.pieceCount, piecesMax),
  }
}

/** Before it is written: what may have been read of it counts as reported. */
function noteUsage({ promptTokens, completionTokens }: RequestPlan, call: Call): void {
  if (call.behaviour === 'answers') call.usage = { promptTokens, completionTokens }
}

function usageOf({ promptTokens, completionTokens }: RequestPlan, behaviour: Behaviour): object | null {
  if (behaviour !== 'answers') return null
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}
