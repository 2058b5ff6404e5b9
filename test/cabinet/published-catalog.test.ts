import { expect, test, vi } from 'vitest'
import { routesNameOn, routesRevisionNameOn } from '#core/catalog/catalog-names'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { urlAs } from '../support/postgres.ts'
import { type Process, secrets } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { pool, url } = stack.database

const until = (work: () => Promise<void> | void) => vi.waitFor(work, { timeout: 8_000, interval: 20 })

const startWorker = (env: Readonly<Record<string, string>> = {}) =>
  stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', url), ...env })

const statusOf = async (gateway: Process, key: string, model: string) =>
  (await post(gateway, key, { model, messages: [{ role: 'user', content: 'hi' }] })).status

const readiness = async (gateway: Process) => (await fetch(`${gateway.adminUrl}/readyz`)).status

/** The revision in Redis, once it is not this one any more. */
async function revisionAfter(revision: bigint): Promise<bigint> {
  return await vi.waitFor(async () => {
    const now = BigInt((await view.ask((redis) => redis.get(routesRevisionNameOn(view)))) ?? 0)
    expect(now).not.toBe(revision)
    return now
  })
}

test('documents that Redis has lost, or has other ones of, are published again and followed; a sound catalog is left alone', async () => {
  const [lost, other] = [await stack.createModel(), await stack.createModel()]
  const { key } = await stack.createCustomer()
  let worker = await startWorker()
  let gateway = await stack.startGateway()
  await untilServed(gateway, key, lost)
  await Promise.all([worker.kill(), gateway.kill()])
  const revision = await readCatalogRevision(pool)

  await view.ask((redis) => redis.hdel(routesNameOn(view), `route:${lost}`))
  gateway = await stack.startGateway()
  await untilServed(gateway, key, other)
  expect(await statusOf(gateway, key, lost)).toBe(404)
  worker = await startWorker()
  await untilServed(gateway, key, lost)
  expect(await readCatalogRevision(pool)).toBe(revision + 1n)

  await worker.kill()
  worker = await startWorker()
  await vi.waitFor(async () => expect(await readiness(worker)).toBe(200))
  expect(await readCatalogRevision(pool)).toBe(revision + 1n)
  await Promise.all([worker.kill(), gateway.kill()])
})

test('a new signing key is in force once the worker has it, without an edit, and a gateway that has both notices nothing; one without it is no gateway of nothing', async () => {
  const model = await stack.createModel()
  const { key } = await stack.createCustomer()
  let worker = await startWorker()
  const old = await stack.startGateway()
  await untilServed(old, key, model)
  const next = 'the next key that signs routes in tests'
  const both = await stack.startGateway({ ROUTES_SIGNING_KEY: `${secrets.ROUTES_SIGNING_KEY},${next}` })
  await untilServed(both, key, model)
  await worker.kill()
  const before = await readCatalogRevision(pool)

  const rotated = { ROUTES_SIGNING_KEY: next }
  const early = await stack.startGateway(rotated)
  await until(async () => expect(await rejectedCount(early)).toBeGreaterThan(0))
  expect(await statusOf(early, key, model)).toBe(503)
  expect(await readiness(early)).toBe(503)

  worker = await startWorker(rotated)
  await revisionAfter(before)
  await untilServed(early, key, model)
  expect(await readiness(early)).toBe(200)
  await until(async () => expect(await rejectedCount(old)).toBeGreaterThan(0))
  expect(await statusOf(old, key, model)).toBe(200) // what it has was signed by the key that it has
  expect(await readiness(old)).toBe(200)
  await untilServed(both, key, await stack.createModel())
  expect(await rejectedCount(both)).toBe(0)
  await Promise.all([worker, old, early, both].map((process) => process.kill()))
})

/** Documents that a gateway has left out. */
async function rejectedCount(gateway: Process): Promise<number> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  return Number(/^model_gateway_route_documents_rejected_total (.*)$/m.exec(text)?.[1] ?? 0)
}
