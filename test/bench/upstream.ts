import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** The provider of the benchmark: as little work as possible, so that what is measured lies before it. */
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
const last = `${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [], usage })}\n\ndata: [DONE]\n\n`

/** Tokens of the two kinds of stream: one every 20 ms, for 10 s as a long answer has it, and as fast as they are read. */
export const slowTokens = 500
export const fastTokens = 2000
const slowTokenMs = 20

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const bytes of request) body += bytes
  if (body.includes('"stream":true')) return stream(body.includes('bench-slow') ? 'slow' : 'fast', response)
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(plainAnswer),
  })
  response.end(plainAnswer)
}

async function stream(pace: 'slow' | 'fast', response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(first)
  for (let n = 0; n < (pace === 'slow' ? slowTokens : fastTokens); n++) {
    const flows = response.write(token)
    if (pace === 'slow') await pause(slowTokenMs)
    else if (!flows) await new Promise((resolve) => response.once('drain', resolve))
  }
  response.end(last)
}

if (import.meta.main) {
  const server = createServer((request, response) => void answer(request, response))
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ msg: 'started', ...Object(server.address()), adminPort: 0 })}\n`)
  })
}
