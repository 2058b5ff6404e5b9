import { expect, test, vi } from 'vitest'
import { checkInvariants } from '#core/ledger/invariants'
import { findRub } from '#core/ledger/money'
import { connectRedis } from '#core/redis/redis-connection'
import type { Process } from '../support/processes.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { countOpen } from './books.ts'

const stack = await stackOfThisFile({ appendonly: 'yes' })

test('a gateway lost together with Redis’s data loses its unposted charges, and nothing is charged twice', async () => {
  const worker = await stack.startWorker()
  const [doomed, survivor] = await Promise.all([stack.startGateway(), stack.startGateway()])
  const model = await stack.createModel()
  const customer = await stack.createCustomer({ rpm: 10_000 })
  await Promise.all([doomed, survivor].map((gateway) => untilServed(gateway, customer.key, model)))
  const complete = async (gateway: Process) => {
    const response = await post(gateway, customer.key, {
      model,
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(response.status).toBe(200)
    await response.text() // to its last byte
    const cost = findRub(response.headers.get('x-gateway-cost-rub') ?? '')
    return { id: response.headers.get('x-gateway-request-id') ?? '', cost }
  }
  const completeTen = (gateway: Process) => Promise.all(Array.from({ length: 10 }, () => complete(gateway)))

  const posted = await completeTen(doomed)
  await vi.waitFor(async () => expect((await stack.readBooks(customer.organizationId)).costs.size).toBe(10), {
    timeout: 10_000,
  })
  worker.freeze() // from here on charges are in Redis and in the memory of their gateways, and nowhere else
  const lost = await completeTen(doomed)
  const kept = await completeTen(survivor)
  const connection = connectRedis(stack.redis.url, { name: 'test', timeoutMs: 2_000 })
  await connection.connected(5_000)
  await Promise.all([doomed.kill(), connection.ask((redis) => redis.flushall())])
  worker.thaw()

  await vi.waitFor(
    async () => {
      const books = await stack.readBooks(customer.organizationId)
      for (const { id, cost } of [...posted, ...kept]) {
        expect(books.costs.get(id)).toBe(cost)
        expect(books.chargeRows.get(id)).toBe(1)
      }
      expect(await countOpen(connection)).toEqual({ holds: 0, charges: 0 })
    },
    { timeout: 20_000, interval: 100 },
  )
  const books = await stack.readBooks(customer.organizationId)
  expect(lost.filter(({ id }) => books.costs.has(id))).toEqual([])
  expect((await checkInvariants(stack.database.pool)).filter(({ breachCount }) => breachCount > 0)).toEqual(
    [],
  )
  connection.close()
}, 60_000)
