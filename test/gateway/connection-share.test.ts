import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'
import { pausedAnswer, plain } from '../support/upstream.ts'

const { createKey, gateway, send, upstream } = await loneGatewayOfThisFile({ GATEWAY_CONNECTIONS_MAX: '32' })
/** An eighth of them. */
const share = 4

const bodyOf = (content: string) =>
  JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content }] })
const small = bodyOf('Hi')
const large = bodyOf('x'.repeat(20_000))

/** Announces a body of more than 16 KiB, and is asked to send it. */
async function beginLarge(key: string): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const headers = ['host: x', `authorization: Bearer ${key}`, 'content-type: application/json']
  const all = [...headers, `content-length: ${large.length}`, 'expect: 100-continue']
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`)
  const [asked] = await once(socket, 'data')
  expect(String(asked)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return socket
}

/** Has a provider asked for `count` answers, which come when the test lets them. */
async function askAndWait(key: string, count: number) {
  const { answer, goOn } = pausedAnswer()
  upstream.answer('demo/echo', answer)
  const before = upstream.requests.length
  const answers = Array.from({ length: count }, () => send({ key, body: small }))
  await vi.waitFor(() => expect(upstream.requests.length).toBe(before + count))
  return { answers: Promise.all(answers), goOn }
}

test('an eighth of the connections wait for one organization, then it reads 429; others are served', async () => {
  const [greedy, other] = [await createKey({ rpm: 100 }), await createKey()]
  const uploading = await beginLarge(greedy.key)
  const { answers, goOn } = await askAndWait(greedy.key, share - 1)

  for (const [body, remaining] of [
    [small, '96'],
    [large, '96'],
    [small, '95'],
  ] as const) {
    const { status, headers, text } = await send({ key: greedy.key, body })
    expect([status, headers['retry-after'], JSON.parse(text).error.code]).toEqual([
      429,
      '1',
      'rate_limit_exceeded',
    ])
    expect(headers['x-ratelimit-remaining-rpm']).toBe(remaining)
  }
  const ofOther = send({ key: other.key, body: large })
  goOn()
  expect((await ofOther).status).toBe(200)
  expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200])

  const next = await askAndWait(greedy.key, share - 1) // the upload still counts, what was answered does not
  uploading.write(large)
  next.goOn()
  expect(String((await once(uploading, 'data'))[0])).toMatch(/^HTTP\/1.1 200/)
  await next.answers
})

test('a connection counts no more once its client has left', async () => {
  upstream.answer('demo/echo', plain('Hello'))
  const { key } = await createKey()
  for (const socket of await Promise.all(Array.from({ length: share }, () => beginLarge(key))))
    socket.destroy()
  await vi.waitFor(async () => expect((await send({ key, body: large })).status).toBe(200))
})
