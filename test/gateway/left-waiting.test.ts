import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chargesName, organizationSumsName } from '#core/redis/shard'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'
import { plain } from '../support/upstream.ts'

const { connection, createKey, gateway, redis, upstream } = await loneGatewayOfThisFile({
  REDIS_TIMEOUT_MS: '5000',
})

/** A client that has sent a whole request. */
async function ask(key: string) {
  const socket = connect({ port: gateway.port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })
  const headers = ['host: x', `authorization: Bearer ${key}`, 'content-type: application/json']
  const head = ['POST /v1/chat/completions HTTP/1.1', ...headers, `content-length: ${body.length}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  return socket
}

async function leftCount(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()
  const count = /^model_gateway_requests_total\{[^}]*outcome="client_gone"[^}]*\} (\d+)/m.exec(text)?.[1]
  return Number(count ?? 0)
}

test('a request whose client leaves while it waits for others of its key is not sent: it holds nothing and leaves no record', async () => {
  upstream.answer('demo/echo', plain('hello'))
  const { key, shard, organizationId } = await createKey()
  const records = () => connection.ask((commands) => commands.xlen(chargesName(shard)))

  // It waits for 20 ms at most: whether its client leaves in that time is chance.
  await vi.waitFor(
    async () => {
      const before = { records: await records(), left: await leftCount() }
      redis.freeze()
      const first = await ask(key)
      const waiting = await ask(key)
      await pause(5)
      waiting.destroy()
      await pause(30)
      redis.thaw()
      await once(first, 'data')
      await vi.waitFor(async () => expect(await leftCount()).toBe(before.left + 1))
      expect(await records()).toBe(before.records + 1)
    },
    { timeout: 20_000, interval: 1 },
  )
  const held = () => connection.ask((commands) => commands.hget(organizationSumsName(organizationId), 'held'))
  await vi.waitFor(async () => expect(await held()).toBe('0'))
})
