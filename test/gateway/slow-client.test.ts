import { connect } from 'node:net'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { goodStream, type Step, startUpstream, streamHeaders, type Upstream } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let customer: Customer

beforeAll(async () => {
  customer = await stack.createCustomer({ balanceNano: 1_000_000_000_000_000n })
  await stack.startWorker()
  gateway = await stack.startGateway()
})

const piece = 'x'.repeat(64 * 1024)
/** 40 MiB: more than all the sockets between provider and client take. */
const pieces = 640

/** Has a provider talk, and say how many pieces it could hand out so far. */
function talkAt(upstream: Upstream, model: string) {
  let handedOut = 0
  const counted: Step = {
    get until() {
      handedOut += 1
      return Promise.resolve()
    },
  }
  const { role, say, finish, usage, done } = goodStream
  const said = Array.from({ length: pieces }, () => [say(piece), counted]).flat()
  upstream.answer(model, {
    headers: streamHeaders,
    steps: [role, ...said, finish(), usage(), done],
  })
  return { handedOut: () => handedOut }
}

/** Tokens: more than all content of this test, because it would be cut off otherwise. */
const longAnswer = 100_000_000

async function createTalker() {
  const model = await stack.createModel({ outputNano: 1n, maxOutputTokens: longAnswer })
  const talker = talkAt(stack.upstream, model)
  await untilServed(gateway, customer.key, model)
  return { model, ...talker }
}

function requestOf(model: string): string {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Talk' }] })
  const headers = [`authorization: Bearer ${customer.key}`, 'content-type: application/json']
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** Opens a connection that reads nothing until the test asks. */
function openClient(requests: string) {
  const socket = connect(Number(new URL(gateway.baseUrl).port), '127.0.0.1')
  socket.pause()
  socket.write(requests)
  return {
    /** Reads on until `ends` answers have ended with these words, and counts their pieces. */
    async read(ends: number, words = '[DONE]'): Promise<number> {
      let text = ''
      let length = 0
      let ended = 0
      for await (const bytes of socket) {
        text = text.slice(-20) + bytes.toString('latin1')
        length += bytes.length
        ended += text.split(words).length - 1
        text = text.replaceAll(words, '')
        if (ended === ends) break
      }
      return Math.floor(length / piece.length)
    },
  }
}

/** Waits until the provider hands out nothing more, and answers how much it did. */
async function untilStill(handedOut: () => number): Promise<number> {
  let before = -1
  await vi.waitFor(
    () => {
      const now = handedOut()
      const isStill = now > 0 && now === before
      before = now
      expect(isStill).toBe(true)
    },
    { timeout: 20_000, interval: 500 },
  )
  return before
}

test('a client that does not read stops its provider; once it reads it gets everything', async () => {
  const talker = await createTalker()
  const client = openClient(requestOf(talker.model))
  expect(await untilStill(talker.handedOut)).toBeLessThan(pieces)
  expect(await client.read(1)).toBeGreaterThanOrEqual(pieces)
  expect(talker.handedOut()).toBe(pieces)
})

test('so does an answer that waits behind another one on its connection', async () => {
  const [first, second] = [await createTalker(), await createTalker()]
  const client = openClient(requestOf(first.model) + requestOf(second.model))
  expect(await untilStill(first.handedOut)).toBeLessThan(pieces)
  expect(await untilStill(second.handedOut)).toBeLessThan(pieces)
  expect(await client.read(2)).toBeGreaterThanOrEqual(2 * pieces)
  expect([first.handedOut(), second.handedOut()]).toEqual([pieces, pieces])
})

test('a provider that gave up on clients that do not read is not taken for a sick one', async () => {
  const upstream = await startUpstream()
  onTestFinished(() => upstream.stop().catch(() => undefined))
  const provider = await stack.createProvider({ baseUrl: upstream.url })
  const model = await stack.createModel({
    outputNano: 1n,
    maxOutputTokens: longAnswer,
    backends: [{ name: 'main', provider, model: provider, priority: 0, weight: 1 }],
  })
  await untilServed(gateway, customer.key, model)
  const talker = talkAt(upstream, provider)
  const clients = Array.from({ length: 6 }, () => openClient(requestOf(model)))
  // Each look takes half a second in which nothing moves.
  for (let look = 0; look < 4; look += 1)
    expect(await untilStill(talker.handedOut)).toBeLessThan(pieces * clients.length)
  await upstream.stop()
  for (const client of clients) expect(await client.read(1, 'upstream_error')).toBeLessThan(pieces)
  expect(await readMetric(gateway, `backends_cooling_down{provider="${provider}"}`)).toBe(0)
})
