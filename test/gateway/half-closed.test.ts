import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'
import { pausedAnswer } from '../support/upstream.ts'

const { createKey, gateway, logged, upstream } = await loneGatewayOfThisFile({}, { whenClosed: 'stops' })
const owner = await createKey()
const model = 'demo/echo'
const modes = [
  ['plain', false],
  ['streamed', true],
] as const

/** A client with its own connection that has sent a whole request, which reached a provider. */
async function ask({ stream, http = '1.1' }: { readonly stream: boolean; readonly http?: string }) {
  const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('data', (data) => (text += data)).on('error', () => undefined)
  const ended = once(socket, 'end')
  await once(socket, 'connect')
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hi' }] })
  const headers = ['host: x', `authorization: Bearer ${owner.key}`, 'content-type: application/json']
  const head = [`POST /v1/chat/completions HTTP/${http}`, ...headers, `content-length: ${body.length}`]
  return { socket, request: `${head.join('\r\n')}\r\n\r\n${body}`, text: () => text, ended }
}

async function untilAsked(count: number) {
  await vi.waitFor(() => expect(upstream.requests.length).toBe(count))
  const request = upstream.requests[count - 1]
  if (request === undefined) throw new Error('the provider was not asked')
  return request
}

describe('a client that has only ended its own side', () => {
  test.each(modes)('gets its whole %s answer, however long that takes', async (_mode, stream) => {
    const { answer, goOn } = pausedAnswer()
    upstream.answer(model, answer)
    const client = await ask({ stream })
    client.socket.end(client.request)
    const isAsked = stream
      ? /delivered[\s\S]*(: keep-alive[\s\S]*){3}/
      : /^(HTTP\/1.1 102 Processing\r\n\r\n){3}/
    await vi.waitFor(() => expect(client.text()).toMatch(isAsked))
    goOn()
    await client.ended
    expect(client.text()).toMatch(/HTTP\/1.1 200 OK/)
    expect(client.text()).toMatch(
      stream ? /And more\.[\s\S]*data: \[DONE\]\n\n\r\n0\r\n\r\n$/ : /Some words\..*\}$/,
    )
    expect(logged.at(-1)).toMatchObject({ outcome: 'completed', status: 200 })
  })

  test('gets the answer to a request for no model, and its connection is closed', async () => {
    const client = await ask({ stream: false })
    client.socket.end(`GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.key}\r\n\r\n`)
    await client.ended
    expect(client.text()).toMatch(/^HTTP\/1.1 200 OK[\s\S]*demo\/echo/)
  })

  test('gets the error of a request that it cut short', async () => {
    const client = await ask({ stream: false })
    client.socket.end(client.request.slice(0, -1))
    await client.ended
    expect(client.text()).toMatch(/^HTTP\/1.1 400 Bad Request/)
  })
})

describe('a client that has left is noticed within a second', () => {
  const left = [
    ...modes.map((mode) => [...mode, '1.1'] as const),
    ...modes.map((mode) => [...mode, '1.0'] as const),
  ]

  test.each(left)('before its %s answer (%s, HTTP/%s)', async (_mode, stream, http) => {
    upstream.answer(model, { silentMs: 'forever' })
    const count = upstream.requests.length + 1
    const client = await ask({ stream, http })
    client.socket.write(client.request)
    const request = await untilAsked(count)
    client.socket.destroy()
    await vi.waitFor(() => expect(request.state).toBe('left'), { timeout: 1000, interval: 5 })
    await vi.waitFor(() => expect(logged.at(-1)).toMatchObject({ outcome: 'client_gone', status: 499 }))
  })

  test.each(['1.1', '1.0'])('in the middle of a stream (HTTP/%s)', async (http) => {
    upstream.answer(model, pausedAnswer().answer)
    const count = upstream.requests.length + 1
    const client = await ask({ stream: true, http })
    client.socket.write(client.request)
    const request = await untilAsked(count)
    await vi.waitFor(() => expect(client.text()).toContain('delivered'))
    client.socket.destroy()
    await vi.waitFor(() => expect(request.state).toBe('left'), { timeout: 1000, interval: 5 })
  })
})
