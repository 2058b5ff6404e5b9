import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import type { DistantOutcome, DistantRequest } from './distant-peers.ts'

if (parentPort === null) throw new Error('this runs in a thread of distant-peers.ts')
const port = parentPort
const message = { role: 'assistant', content: 'Hello', refusal: null }
const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }
let received = ''

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  received = await textOf(incoming)
  const isChat = incoming.url?.endsWith('/chat/completions') === true
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isChat ? completion : embeddingsOf(received)))
}

function embeddingsOf(body: string): object {
  const { input } = JSON.parse(body)
  const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
  const data = Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding: [0.5] }))
  return { object: 'list', data, model: 'm', usage: { prompt_tokens: 10, total_tokens: 10 } }
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  return Buffer.concat(parts).toString()
}

async function send({ url, key, body }: DistantRequest): Promise<DistantOutcome> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sending = request(url, { method: 'POST', agent: false, headers })
  sending.setHeader('content-length', body.length)
  sending.end(body)
  const [response] = await once(sending, 'response')
  return { status: response.statusCode, answer: await textOf(response), received }
}

const server = createServer((incoming, response) => void answer(incoming, response))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
port.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
port.on('message', async (order: DistantRequest) => port.postMessage(await send(order)))
