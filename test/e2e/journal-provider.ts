import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * A provider for tests, in a separate pod. It generates what the last message requests, as JSON `{"id": "…",
 * "pieces": 20, "everyMs": 100}`, and keeps a journal of it. It imports only Node's modules, because it is
 * mounted into an image of this project as one file.
 *
 * `GET /journal` returns `{ [id]: { begun, ended } }`.
 */
type Ask = { readonly id: string; readonly pieces: number; readonly everyMs: number }
type Entry = { begun: number; ended: number }

const journal = new Map<string, Entry>()
const promptTokens = 10

createServer(async (request, response) => {
  if (request.url === '/journal')
    return void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(Object.fromEntries(journal)))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  const ask: Ask = JSON.parse(body.messages.at(-1).content)
  const entry = journal.get(ask.id) ?? { begun: 0, ended: 0 }
  journal.set(ask.id, entry)
  entry.begun += 1
  await (body.stream === true ? stream(response, body.model, ask) : answer(response, body.model, ask))
  if (response.writableEnded && !response.destroyed) entry.ended += 1
}).listen(8090, '0.0.0.0')

async function answer(response: ServerResponse, model: string, ask: Ask): Promise<void> {
  await pause(ask.pieces * ask.everyMs)
  response.writeHead(200, { 'content-type': 'application/json' }).end(
    JSON.stringify({
      ...head(model, ask),
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'word '.repeat(ask.pieces), refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: usage(ask),
    }),
  )
}

async function stream(response: ServerResponse, model: string, ask: Ask): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (rest: object) =>
    response.write(
      `data: ${JSON.stringify({ ...head(model, ask), object: 'chat.completion.chunk', ...rest })}\n\n`,
    )
  const choice = (delta: object, finish: string | null) => ({
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
  })
  send(choice({ role: 'assistant', content: '' }, null))
  for (let piece = 0; piece < ask.pieces && !response.destroyed; piece += 1) {
    await pause(ask.everyMs)
    send(choice({ content: 'word ' }, null))
  }
  send(choice({}, 'stop'))
  send({ choices: [], usage: usage(ask) })
  response.end('data: [DONE]\n\n')
}

function head(model: string, ask: Ask) {
  return {
    id: `chatcmpl-${ask.id}`,
    created: Math.floor(Date.now() / 1000),
    model,
    system_fingerprint: null,
    service_tier: 'default',
  }
}

function usage(ask: Ask) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: ask.pieces,
    total_tokens: promptTokens + ask.pieces,
  }
}
