import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { gatewaysNameOn } from '#core/catalog/catalog-names'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { pausedAnswer, streamed } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)

beforeAll(async () => {
  await stack.startWorker()
})

test('a stopping gateway is not ready, accepts no new requests, finishes its streams, posts them and exits with 0', async () => {
  const model = await stack.createModel()
  const { key, organizationId } = await stack.createCustomer()
  const gateway = await stack.startGateway()
  await untilServed(gateway, key, model)
  stack.upstream.answer(model, streamed(['one ', 'two ', 'three '], { between: { waitMs: 300 } }))
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }], stream: true })

  const stopped = gateway.stop()
  await vi.waitFor(async () => expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503), {
    timeout: 2000,
  })
  await vi.waitFor(() => expect(fetch(gateway.baseUrl)).rejects.toThrow(), { timeout: 2000 })

  const text = await answer.text()
  expect(text).toMatch(/one .*two .*three .*data: \[DONE\]\n\n$/s)
  await stopped
  expect(gateway.exitCode()).toBe(0)
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  await vi.waitFor(async () => {
    const books = await stack.readBooks(organizationId)
    expect(books.chargeRows.get(requestId)).toBe(1)
  })
})

test('a stopping gateway that gets a second signal finishes its streams anyway', async () => {
  const model = await stack.createModel()
  const { key } = await stack.createCustomer()
  const gateway = await stack.startGateway()
  await untilServed(gateway, key, model)
  const { answer, goOn } = pausedAnswer()
  onTestFinished(goOn)
  stack.upstream.answer(model, answer)
  const messages = [{ role: 'user', content: 'x' }]
  const running = await post(gateway, key, { model, messages, stream: true })

  const stopped = [gateway.stop()]
  const isDraining = async () => expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503)
  await vi.waitFor(isDraining, { timeout: 2000 })
  stopped.push(gateway.stop(), gateway.stop())
  await isDraining()
  goOn()
  expect(await running.text()).toMatch(/And more.*data: \[DONE\]\n\n$/s)
  await Promise.all(stopped)
  expect(gateway.exitCode()).toBe(0)
})

test('a stopping gateway leaves its share of what providers allow to the others while its last stream still runs', async () => {
  const model = await stack.createModel()
  const { key } = await stack.createCustomer()
  const gateway = await stack.startGateway({ GATEWAY_INSTANCE: 'leaving' })
  await untilServed(gateway, key, model)
  const lives = () => view.ask((redis) => redis.hexists(gatewaysNameOn(view), 'leaving'))
  await vi.waitFor(async () => expect(await lives()).toBe(1))
  const { answer, goOn } = pausedAnswer()
  onTestFinished(goOn)
  stack.upstream.answer(model, answer)
  const running = await post(gateway, key, {
    model,
    messages: [{ role: 'user', content: 'x' }],
    stream: true,
  })

  const stopped = gateway.stop()
  await vi.waitFor(async () => expect(await lives()).toBe(0), { timeout: 2000 })
  goOn()
  expect(await running.text()).toMatch(/data: \[DONE\]\n\n$/)
  await stopped
})

test('a stopping gateway waits for no silent connection and for no request that does not arrive', async () => {
  const gateway = await stack.startGateway({
    GATEWAY_REQUEST_TIMEOUT_MS: '1000',
    GATEWAY_HEADERS_TIMEOUT_MS: '1000',
  })
  const { port } = new URL(gateway.baseUrl)
  const key = (await stack.createCustomer()).key
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`
  const halves = ['', head, `${head}content-type: application/json\r\ncontent-length: 10\r\n\r\n{`]
  for (const half of halves) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(half)
  }
  const stoppedAtMs = performance.now()
  await gateway.stop()
  expect(gateway.exitCode()).toBe(0)
  expect(performance.now() - stoppedAtMs).toBeLessThan(5_000)
})

test('a gateway without its settings names every one of them, no value, and does not start', async () => {
  const env = { KEY_PEPPER: 'hunter2', REDIS_URL: '', GATEWAY_PORT: 'eighty' }
  const failed = await stack.startGateway(env).then(String, String)
  expect(failed).toMatch(/KEY_PEPPER.*REDIS_URL: is not set|REDIS_URL: is not set.*KEY_PEPPER/s)
  expect(failed).toContain('GATEWAY_PORT')
  expect(failed).not.toMatch(/hunter2|eighty/)
})
