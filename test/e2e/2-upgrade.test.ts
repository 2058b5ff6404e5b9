import { beforeAll, describe, expect, test } from 'vitest'
import { checkBooks, checkPayments } from './books.ts'
import { putJournalProvider } from './journal.ts'
import { type Call, chatAsSdk, failuresOf, loadDuring } from './load.ts'
import { beginPayment, pay, signUp } from './people.ts'
import { createCustomer, createKey, helmHere, imageOf, podsOf, putRelease, releaseName } from './release.ts'
import { figure } from './results.ts'
import { tags } from './settings.ts'

const streamCount = 50
/** They outlive the roll-out of all gateways, and every pod's preStop. */
const stream = { pieces: 60, everyMs: 1_500, stream: true } as const
const requestsPerS = 20
/** Rubles of the top-ups that are paid during the upgrade. */
const payments = ['101', '102', '103'] as const
const limits = { requestsPerMinute: 100_000, tokensPerMinute: 100_000_000 }

beforeAll(async () => {
  await putRelease([`image.tag=${tags.first}`])
  await putJournalProvider(await imageOf('gateway'))
})

describe('Under load', () => {
  test('helm upgrade to another image cuts no stream, fails no request, and each answer is charged once', () =>
    changeUnderLoad('helm upgrade', tags.next, () => putRelease([`image.tag=${tags.next}`])))

  test('helm rollback does not either', () =>
    changeUnderLoad('helm rollback', tags.first, async () => {
      await helmHere(['rollback', releaseName, '--wait', '--timeout', '8m'])
    }))
})

/** Changes the release to another image while streams are open and requests come in, as SDKs ask. */
async function changeUnderLoad(what: string, tag: string, change: () => Promise<void>): Promise<void> {
  const customer = await createCustomer('100')
  const { key } = await createKey(customer, 'load', { limits })
  const before = await podsOf('gateway')
  const person = await signUp()
  const pages = await Promise.all(payments.map((amountRub) => beginPayment(person, amountRub)))
  const streams: Promise<Call>[] = []
  let tookMs = 0
  const work = async () => {
    for (let n = 0; n < streamCount; n += 1) streams.push(chatAsSdk(key, stream))
    const startMs = performance.now()
    await Promise.all([change(), ...pages.map(pay)])
    tookMs = performance.now() - startMs
    await Promise.all(streams)
  }
  const requests = await loadDuring(key, requestsPerS, shortAsk, work, chatAsSdk)
  expect(await imageOf('gateway')).toMatch(new RegExp(`:${tag}$`))
  expect((await podsOf('gateway')).filter((pod) => before.includes(pod))).toEqual([])
  const calls = [...requests, ...(await Promise.all(streams))]
  expect(calls.filter(({ isWhole }) => !isWhole)).toEqual([])
  await checkBooks(customer.organization, calls, 'each asked once')
  await checkPayments(payments.length)
  figure(what, `${(tookMs / 1000).toFixed(1)} s; ${streamCount} open streams; ${failuresOf(calls)}`)
  expect(calls.flatMap(({ earlier }) => earlier)).toEqual([])
}

/** Every other one is streamed. */
function shortAsk(turn: number) {
  return { pieces: 3, everyMs: 30, stream: turn % 2 === 0 }
}
