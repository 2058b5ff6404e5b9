import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** The provider of the benchmark: as little work as possible, so that the time measured is spent before it. */
const text = 'x'.repeat(640)
const usage = { prompt_tokens: 180, completion_tokens: 160, total_tokens: 340 }
const plainAnswer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: text, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
})

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const first = chunk({ role: 'assistant', content: '' }, null)
const token = chunk({ content: ' token' }, null)
const tokenChunk = `${token.length.toString(16)}\r\n${token}\r\n`
const last = `${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [], usage })}\n\ndata: [DONE]\n\n`

/** Tokens of the two kinds of stream: one every 20 ms, for 10 s as a long answer has it, and as fast as they are read. */
export const slowTokens = 500
export const fastTokens = 2000
const slowTokenMs = 20

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const bytes of request) body += bytes
  if (body.includes('"stream":true'))
    return body.includes('bench-slow') ? streamSlowly(response) : streamFast(response)
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(plainAnswer),
  })
  response.end(plainAnswer)
}

async function streamFast(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(first)
  for (let n = 0; n < fastTokens; n++)
    if (!response.write(token)) await new Promise((resolve) => response.once('drain', resolve))
  response.end(last)
}

/**
 * Those who have their next token in each of the 20 ms to come, by the millisecond.
 *
 * A timer for each stream would cost more than the tokens; and timers of one length fall into step after a while, so that
 * all tokens come at once, as they never do from providers.
 */
const due = Array.from({ length: slowTokenMs }, () => new Set<() => void>())
let openCount = 0
let saidThroughMs = 0

function startClock(): void {
  saidThroughMs = Math.floor(performance.now())
  const clock = setInterval(() => {
    for (const nowMs = Math.floor(performance.now()); saidThroughMs < nowMs; ) {
      saidThroughMs += 1
      for (const say of due[saidThroughMs % slowTokenMs] ?? []) say()
    }
    if (openCount === 0) clearInterval(clock) // it would keep a processor awake for others who measure
  }, 1)
}

function streamSlowly(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(first)
  response.write(token)
  openCount += 1
  if (openCount === 1) startClock()
  const mine = due[saidThroughMs % slowTokenMs]
  let left = slowTokens - 1
  const say = () => {
    response.socket?.write(tokenChunk, 'latin1') // past `ServerResponse`, which would take twice as long
    left -= 1
    if (left > 0) return
    mine?.delete(say)
    response.end(last)
  }
  mine?.add(say)
  response.once('close', () => {
    mine?.delete(say)
    openCount -= 1
  })
}

if (import.meta.main) {
  const server = createServer((request, response) => void answer(request, response))
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ msg: 'started', ...Object(server.address()), adminPort: 0 })}\n`)
  })
}
