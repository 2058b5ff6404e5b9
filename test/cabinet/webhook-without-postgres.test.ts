import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findFreePort } from '#standalone/port'
import { listedAddress, startReceiver, webhookOf } from '../support/money-in.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { createCaller } from '../support/webhook-caller.ts'

const database = await databaseOfThisFile()
const body = JSON.stringify({ type: 'notification', event: 'payment.succeeded', object: { id: 'any' } })

/** Notifies a receiver whose Postgres would listen on that port of loopback. */
async function receiverBefore(port: number) {
  const lines: string[] = []
  const url = new URL(database.url)
  url.host = `127.0.0.1:${port}`
  const hear = (line: string) => void lines.push(line)
  const receiver = await startReceiver({ ...database, url: url.href }, {}, hear)
  const { origin, pathname, search } = new URL(webhookOf(receiver))
  const caller = createCaller(origin)
  onTestFinished(async () => {
    await caller.close()
    await receiver.kill()
  })
  return { lines, notify: () => caller.call({ path: pathname + search, from: listedAddress, body }) }
}

test('while Postgres is down every notification is answered 503, and the log has it once', async () => {
  const { lines, notify } = await receiverBefore(await findFreePort())
  const statuses = await Promise.all(Array.from({ length: 200 }, notify))
  expect(new Set(statuses)).toEqual(new Set([503]))
  await vi.waitFor(() => {
    const failures = lines.filter((line) => line.includes('notifications not stored'))
    expect(failures.map((line) => JSON.parse(line))).toMatchObject([
      { level: 50, failed: { ECONNREFUSED: 1 } },
    ])
  })
})

test('a Postgres that takes connections and stays silent is waited for 3 s, not longer', async () => {
  const silent = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const { notify } = await receiverBefore((silent.address() as AddressInfo).port)
  const startedAtMs = performance.now()
  const statuses = await Promise.all(Array.from({ length: 16 }, notify))
  expect(new Set(statuses)).toEqual(new Set([503]))
  expect(performance.now() - startedAtMs).toBeLessThan(4_500)
})
