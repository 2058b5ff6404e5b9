import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { loneGatewayOfThisFile, unknownKeyBeside } from '../support/lone-gateway.ts'

const mebibyte = 1024 * 1024
const { gateway, createKey, scriptCalls, send } = await loneGatewayOfThisFile({
  GATEWAY_HELD_BODY_BYTES_MAX: String(4 * mebibyte),
})
const owner = await createKey()
const made = unknownKeyBeside(owner)
const valid = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })

/** Sends the head of a request and the beginning of its body, and never the rest. */
async function begin(key: string, length: string, body: string): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const headers = ['host: x', `authorization: Bearer ${key}`, 'content-type: application/json', length]
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
  return socket
}

async function readStatus(socket: Socket): Promise<number> {
  const [data] = await once(socket, 'data')
  return Number(String(data).split(' ')[1])
}

async function heldBytes(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()
  return Number(/^model_gateway_held_body_bytes (\d+)/m.exec(text)?.[1])
}

const chunk = `${mebibyte.toString(16)}\r\n${' '.repeat(mebibyte)}\r\n`

test.each([
  ['that says its length', `content-length: ${32 * mebibyte}`, ''],
  ['that does not say its length', 'transfer-encoding: chunked', chunk + chunk],
])('a large body %s is read on only for a key that exists', async (_name, length, body) => {
  expect(await readStatus(await begin(made, length, body))).toBe(401)
  const waiting = await begin(owner.key, length, body)
  const answered = vi.fn()
  waiting.on('data', answered)
  await vi.waitFor(async () => expect(await heldBytes()).toBe(body === '' ? 0 : 2 * mebibyte))
  expect(answered).not.toHaveBeenCalled()
})

test('a body that announces too large a size is rejected before any of it has come', async () => {
  expect(await readStatus(await begin(owner.key, `content-length: ${32 * mebibyte + 1}`, ''))).toBe(413)
})

test('the key of a large faulty request is looked up once, and the request counted once', async () => {
  await vi.waitFor(async () => expect(await heldBytes()).toBe(0))
  const before = await scriptCalls()
  expect(await send({ key: owner.key, body: '{'.padEnd(2 * mebibyte) })).toMatchObject({ status: 400 })
  expect((await scriptCalls()) - before).toBe(2)
})

test('above so many bytes of bodies in memory requests are 503 with Retry-After; they are served again once there is room', async () => {
  const half = ' '.repeat(mebibyte - 1)
  const begun = await Promise.all(
    Array.from({ length: 4 }, () => begin(owner.key, `content-length: ${mebibyte}`, half)),
  )
  await vi.waitFor(async () => expect(await heldBytes()).toBe(4 * mebibyte - 4))
  const refused = await send({ key: owner.key, body: valid })
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(JSON.parse(refused.text).error.code).toBe('service_unavailable')
  expect(await send({ key: made, body: valid })).toMatchObject({ status: 401 })
  for (const socket of begun) socket.destroy()
  await vi.waitFor(async () => expect(await heldBytes()).toBe(0))
  expect(await send({ key: owner.key, body: valid })).toMatchObject({ status: 200 })
  await vi.waitFor(async () => expect(await heldBytes()).toBe(0))
})
