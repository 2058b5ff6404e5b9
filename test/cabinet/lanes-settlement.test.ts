import { expect, onTestFinished, test, vi } from 'vitest'
import { laneOf, setLanes } from '#core/ledger/lanes'
import { uuidV7 } from '../support/customer.ts'
import { type DirectCustomer, directChargesOfThisFile } from '../support/direct-charges.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile({ appendonly: 'yes' })
const view = viewOfThisFile(stack.redis)
const { createDirectCustomer } = await directChargesOfThisFile(stack)
const { pool } = stack.database

const give = ({ organizationId }: DirectCustomer, laneCount: number) =>
  inTestScope(pool, (client) => setLanes(client, organizationId, laneCount))

/** Charges of 1, 2, 3 … tokens; answers their costs by request id. */
async function chargeMany(customer: DirectCustomer, count: number): Promise<ReadonlyMap<string, bigint>> {
  const charges = Array.from({ length: count }, async (_, n) => {
    const requestId = uuidV7()
    return [requestId, await customer.settle(await customer.admit(requestId), n + 1)] as const
  })
  return new Map(await Promise.all(charges))
}

async function expectEachOnce(customer: DirectCustomer, costs: ReadonlyMap<string, bigint>): Promise<void> {
  const books = await settledBooks(stack, view, customer.organizationId, { requests: costs.size })
  for (const [id, costNano] of costs) expect(books.get(id)).toMatchObject({ costNano, chargeRows: 1 })
}

async function postedLanes({ organizationId }: DirectCustomer): Promise<readonly number[]> {
  const { rows } = await pool.query<{ lane: number }>(
    `select distinct lane_of_seq(seq) as lane from balance_ledger
      where organization_id = $1 and kind = 'charge' order by 1`,
    [organizationId],
  )
  return rows.map(({ lane }) => lane)
}

test('a lane that waits holds up no other lane, and charges leave Redis once all are posted', async () => {
  const before = await stack.startWorker()
  const customer = await createDirectCustomer()
  await give(customer, 4)
  await before.kill() // it reads every 5 s which organizations have lanes
  const worker = await stack.startWorker()
  onTestFinished(() => worker.kill())
  const inTheWay = await pool.connect()
  await inTheWay.query('begin')
  await inTheWay.query('select from account_lanes where organization_id = $1 and lane = 1 for update', [
    customer.organizationId,
  ])
  worker.freeze()
  const costs = await chargeMany(customer, 40)
  expect(new Set([...costs.keys()].map((id) => laneOf(id, 4))).size).toBe(4)
  worker.thaw()
  await vi.waitFor(async () => expect(await postedLanes(customer)).toEqual([0, 2, 3]), { timeout: 10_000 })
  expect(await view.waitingCount(customer.organizationId)).toBe(40)
  await inTheWay.query('rollback')
  inTheWay.release()
  await expectEachOnce(customer, costs)
  expect(await postedLanes(customer)).toEqual([0, 1, 2, 3])
})

test('workers are killed while they post and lanes are added: each charge counts once, and Redis has the sum of the lanes', async () => {
  let worker = await stack.startWorker()
  const customer = await createDirectCustomer()
  const costs = new Map<string, bigint>()
  for (const lanes of [2, 4, 16]) {
    const charging = (async () => {
      for (let n = 0; n < 4; n++) for (const [id, cost] of await chargeMany(customer, 30)) costs.set(id, cost)
    })()
    await give(customer, lanes)
    await vi.waitFor(async () => expect((await postedLanes(customer)).length).toBeGreaterThan(lanes / 4), {
      timeout: 20_000,
    })
    await worker.kill()
    worker = await stack.startWorker()
    await charging
  }
  await expectEachOnce(customer, costs)
  await worker.kill()
}, 60_000)
