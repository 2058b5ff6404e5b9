import { beforeAll, describe, expect, test } from 'vitest'
import { checkBooks } from './books.ts'
import { putJournalProvider } from './journal.ts'
import { kubectlOk } from './kubernetes.ts'
import { type Call, chat, chatAsSdk, failuresOf, loadDuring } from './load.ts'
import { killInPlace } from './processes-of-pods.ts'
import {
  createCustomer,
  createKey,
  deployments,
  eventually,
  fullname,
  imageOf,
  namespace,
  podsOf,
  putRelease,
  rolledOut,
  storeIsReady,
} from './release.ts'
import { figure } from './results.ts'

const requestsPerS = 10
const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 }
const stream = { pieces: 20, everyMs: 250, stream: true } as const
const servedAgainWithinMs = 30_000

const stores = ['trial-postgres', 'trial-redis'] as const

beforeAll(async () => {
  await putRelease()
  await putJournalProvider(await imageOf('gateway'))
})

/** Runs some harm under load, until all is served again; answers what clients saw. */
async function under(harm: (untilServed: () => Promise<void>) => Promise<void>): Promise<readonly Call[]> {
  const customer = await eventually(() => createCustomer('100')) // Postgres may still be recovering
  const { key } = await createKey(customer, 'load', { limits })
  const probes: Call[] = []
  const load = await loadDuring(
    key,
    requestsPerS,
    // Whatever is killed, some stream is open.
    (turn) => (turn % 10 === 0 ? stream : { pieces: 3, everyMs: 30, stream: turn % 2 === 0 }),
    async () => {
      const untilServed = () => servedAgain(key, probes)
      await untilServed()
      await harm(untilServed)
      await untilServed()
    },
    chatAsSdk,
  )
  const attempts = load.flatMap((call) => [...call.earlier, call])
  await checkBooks(customer.organization, [...attempts, ...probes], 'some may have failed')
  return load
}

/** Resolves once the gateways answer ten requests in a row. */
async function servedAgain(key: string, probes: Call[]): Promise<void> {
  await eventually(async () => {
    for (let n = 0; n < 10; n += 1) {
      const probe = await chat(key, { pieces: 1, everyMs: 0, stream: false })
      probes.push(probe)
      expect(probe.status).toBe(200)
    }
  }, 120_000)
}

function report(what: string, calls: readonly Call[]): void {
  figure(what, failuresOf(calls))
}

describe('kill -9', () => {
  test.each([...deployments])('of a pod of %s loses no ruble and charges none twice', async (component) => {
    const calls = await under(async () => {
      const [pod = ''] = await podsOf(component)
      await killInPlace(pod)
      await rolledOut(component)
    })
    report(`kill -9 of ${component}`, calls)
  })

  test.each([...stores])('of %s loses no ruble and charges none twice', async (store) => {
    const calls = await under(async () => {
      await killInPlace(`${fullname}-${store}-0`)
      await storeIsReady(store)
    })
    report(`kill -9 of ${store}`, calls)
  })
})

describe('eviction, as a drained node does it', () => {
  test.each([...deployments])('of a pod of %s fails no request', async (component) => {
    const calls = await under(async () => {
      const [pod = ''] = await podsOf(component)
      await evict(pod)
      await eventually(async () => expect(await podsOf(component)).not.toContain(pod))
      await rolledOut(component)
    })
    report(`eviction of ${component}`, calls)
    expect(calls.flatMap((call) => [...call.earlier, call]).filter(({ isWhole }) => !isWhole)).toEqual([])
  })

  test.each([...stores])('of %s loses no ruble and charges none twice', async (component) => {
    const calls = await under(async () => {
      await evict(`${fullname}-${component}-0`)
      await storeIsReady(component)
    })
    report(`eviction of ${component}`, calls)
  })
})

test(`a Redis whose volume was wiped serves again within ${servedAgainWithinMs / 1000} s, and nothing is lost`, async () => {
  let tookMs = 0
  const calls = await under(async (untilServed) => {
    const pod = `${fullname}-trial-redis-0`
    await kubectlOk(['-n', namespace, 'exec', pod, '-c', 'redis', '--', 'sh', '-c', 'rm -rf /data/*'])
    await killInPlace(pod)
    const startMs = performance.now()
    await untilServed()
    tookMs = performance.now() - startMs
  })
  expect(tookMs).toBeLessThan(servedAgainWithinMs)
  report('Redis wiped', calls)
})

async function evict(pod: string): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } }
  await kubectlOk(
    ['create', '--raw', `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, '-f', '-'],
    JSON.stringify(eviction),
  )
}
