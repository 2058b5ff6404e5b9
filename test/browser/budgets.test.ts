import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { postBatch } from '#core/ledger/post-batch'
import { createModel, createProvider } from '../support/catalog.ts'
import { entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { measureSlowness } from '../support/processor-speed.ts'
import { addressesFor, settle } from './addresses.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { openBrowser, signInOwner } from './visitor.ts'
import { type Meter, meterOf, type Vitals } from './vitals.ts'

const cabinet = await ownCabinetOfThisFile()

const budget = {
  initialScriptBytes: 110_000,
  styleBytes: 15_000,
  chunkBytes: 60_000,
  lcpMs: 1_000,
  slowLcpMs: 2_500,
  cls: 0.05,
  inpMs: 200,
}

/** Other processes share the processors: one try within the budget is enough. */
const triesMax = 3

describe('the cost of opening each page', () => {
  test('scripts, styles, largest paint and shifts are within their budgets, also on a processor four times slower', async () => {
    const { page } = await openBrowser()
    await signInOwner(page)
    const addresses = await addressesFor(page)
    const meter = await meterOf(page)
    const slowness = measureSlowness()
    const faults: string[] = []
    const table: string[] = []
    for (const address of addresses) {
      const open = () => meter.open(address, () => settle(page))
      const usual = await bestOf(open, (one) => one.lcpMs <= budget.lcpMs * slowness)
      await meter.slowDown(4)
      const slow = await bestOf(open, (one) => one.lcpMs <= budget.slowLcpMs * slowness)
      await meter.slowDown(1)
      faults.push(...findTooMuch(usual, slow, slowness).map((fault) => `${address}: ${fault}`))
      table.push(rowOf(address, usual, slow))
    }
    process.stdout.write(`${heading}\n${table.join('\n')}\n`)
    expect(faults).toEqual([])
  }, 240_000)
})

async function bestOf(open: () => Promise<Vitals>, isEnough: (vitals: Vitals) => boolean): Promise<Vitals> {
  let best = await open()
  for (let tries = 1; tries < triesMax && !isEnough(best); tries++) {
    const next = await open()
    if (next.lcpMs < best.lcpMs) best = next
  }
  return best
}

function findTooMuch(usual: Vitals, slow: Vitals, slowness: number): readonly string[] {
  const measured: readonly (readonly [string, number, number])[] = [
    ['bytes of initial scripts', usual.initialScripts, budget.initialScriptBytes],
    ['bytes of styles', usual.styles, budget.styleBytes],
    ...[...usual.chunks].map(([path, bytes]) => [`bytes of ${path}`, bytes, budget.chunkBytes] as const),
    ['ms to the largest paint', usual.lcpMs, budget.lcpMs * slowness],
    ['ms to the largest paint at 4 ×', slow.lcpMs, budget.slowLcpMs * slowness],
    ['of shifts', Math.max(usual.cls, slow.cls), budget.cls],
  ]
  return measured.flatMap(([what, value, most]) =>
    value <= most ? [] : [`${value} ${what}, ${most} at most`],
  )
}

const heading = `| page | initial scripts, kB | its chunks, kB | LCP, ms | LCP at 4 ×, ms | CLS |
| --- | --- | --- | --- | --- | --- |`

function rowOf(address: string, usual: Vitals, slow: Vitals): string {
  const kB = (bytes: number) => (bytes / 1_000).toFixed(1)
  const chunks = [...usual.chunks.values()].reduce((sum, bytes) => sum + bytes, 0)
  const name = address.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '…')
  const cells = [
    `\`${name}\``,
    kB(usual.initialScripts),
    kB(chunks),
    usual.lcpMs.toFixed(0),
    slow.lcpMs.toFixed(0),
    Math.max(usual.cls, slow.cls).toFixed(3),
  ]
  return `| ${cells.join(' | ')} |`
}

/** The best of three: `act` must do the same each time. */
async function inpOf(meter: Meter, act: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < triesMax && best > budget.inpMs; tries++)
    best = Math.min(best, await meter.inpOf(act))
  return best
}

describe('the response time of a page on a processor four times slower', () => {
  test('typing into the filter of 500 models', async () => {
    await createProvider(cabinet.pool, { name: 'many', baseUrl: 'http://127.0.0.1:1' })
    for (let index = 0; index < 500; index++)
      await createModel(cabinet.pool, `vendor-${index % 20}/model-${index}`, 'many', {
        contextLength: 128_000,
      })
    const { page } = await cabinet.openSignedIn()
    const meter = await meterOf(page)
    await meter.open('/app/models', () => settle(page))
    await page.locator('main a[href^="/app/models/vendor-"]').first().waitFor()
    await meter.slowDown(4)
    const filter = page.locator('main input[type=search], main input[type=text]').first()
    const inpMs = await inpOf(meter, async () => {
      await filter.fill('')
      await filter.pressSequentially('model-49', { delay: 60 })
    })
    process.stdout.write(`INP of typing into the filter of 500 models, 4 ×: ${inpMs} ms\n`)
    expect(inpMs).toBeLessThanOrEqual(budget.inpMs)
  }, 120_000)

  test('opening a key', async () => {
    const { page } = await cabinet.openSignedIn()
    const made = await page.request.post('/api/v1/keys', {
      data: { name: 'a key to open' },
      headers: { 'idempotency-key': 'a-key-to-open', origin: cabinet.url },
    })
    expect(made.status()).toBe(202) // no worker copies keys for this cabinet
    const meter = await meterOf(page)
    await meter.open('/app/keys', () => settle(page))
    await meter.slowDown(4)
    const inpMs = await inpOf(meter, async () => {
      await page.getByRole('link', { name: 'a key to open' }).first().click()
      await page.getByRole('heading', { level: 1, name: 'a key to open' }).waitFor()
      await page.goBack()
      await page.getByRole('link', { name: 'a key to open' }).first().waitFor()
    })
    process.stdout.write(`INP of opening a key, 4 ×: ${inpMs} ms\n`)
    expect(inpMs).toBeLessThanOrEqual(budget.inpMs)
  })
})

/** More than any of its pages requests at once. */
const fewRows = 250
const manyRows = 10_000
/** Sums of different lengths. */
const bytesMax = (fewBytes: number) => fewBytes * 1.1 + 200
/** A query that read all 10,000 rows took eight times as long. */
const answerMsMax = (fewMs: number) => 3 * fewMs + 50

describe('an organization of 10,000 keys and 10,000 requests', () => {
  test('has pages as light and as quick as those of a small one', async () => {
    const [small, large] = [await openWithRows(fewRows), await openWithRows(manyRows)]
    const slowness = measureSlowness()
    const faults: string[] = []
    const expectAtMost = (place: string, measured: readonly (readonly [string, number, number])[]) =>
      void faults.push(
        ...measured.flatMap(([what, value, most]) =>
          value <= most ? [] : [`${place}: ${value} ${what}, ${most} at most`],
        ),
      )
    for (const { address, press } of [
      { address: '/app/keys', press: openFirstKey },
      { address: '/app/requests', press: showMore },
    ]) {
      const asked = new Set<string>()
      for (const times of [1, 4]) {
        const lcpMax = (times === 1 ? budget.lcpMs : budget.slowLcpMs) * slowness
        const open = async ({ page, meter }: typeof small) => {
          await meter.slowDown(times)
          const best = await bestOf(
            () => meter.open(address, () => settle(page)),
            ({ lcpMs }) => lcpMs <= lcpMax,
          )
          return { ...best, inpMs: await inpOf(meter, () => press(page)) }
        }
        const [few, many] = [await open(small), await open(large)]
        for (const path of many.reads) asked.add(path)
        const rowsOf = (count: number, { lcpMs, inpMs }: typeof few) =>
          `${count} rows: LCP ${lcpMs.toFixed(0)}, INP ${inpMs} ms`
        process.stdout.write(`${address} at ${times} ×, ${rowsOf(fewRows, few)}; ${rowsOf(manyRows, many)}\n`)
        expectAtMost(`${address} at ${times} ×`, [
          ['ms to the largest paint', many.lcpMs, lcpMax],
          ['ms to see what a press has done', many.inpMs, budget.inpMs],
        ])
      }
      expect(asked.size).toBeGreaterThan(2)
      for (const path of asked) {
        const [few, many] = await compareAnswers(path, small.page, large.page)
        process.stdout.write(`${path}: ${few.bytes} and ${many.bytes} bytes, ${few.ms} and ${many.ms} ms\n`)
        expectAtMost(path, [
          ['bytes', many.bytes, bytesMax(few.bytes)],
          ['ms', many.ms, answerMsMax(few.ms)],
        ])
      }
    }
    expect(faults).toEqual([])
  }, 180_000)
})

/** In turns: other processes disturb both equally. */
async function compareAnswers(path: string, ...pages: readonly [Page, Page]) {
  const taken = pages.map(() => ({ ms: [] as number[], bytes: 0 }))
  for (let times = 0; times < 9; times++)
    for (const [index, page] of pages.entries()) {
      const beganMs = performance.now()
      const answer = await page.request.get(path)
      const { length } = await answer.body()
      taken[index]?.ms.push(performance.now() - beganMs)
      Object.assign(taken[index] ?? {}, { bytes: length })
    }
  const [few, many] = taken.map(({ ms, bytes }) => ({ ms: Math.round(Math.min(...ms)), bytes }))
  if (few === undefined || many === undefined) throw new Error('nothing was compared')
  return [few, many] as const
}

async function openFirstKey(page: Page): Promise<void> {
  await page.locator('main table tbody a').first().click()
  await page.getByRole('heading', { name: 'Почему отказ?' }).waitFor()
  await page.goBack()
  await page.locator('main table tbody a').first().waitFor()
}

async function showMore(page: Page): Promise<void> {
  const rows = page.locator('main table tbody tr')
  const before = await rows.count()
  await page.getByRole('button', { name: 'Показать ещё' }).click()
  await expect.poll(() => rows.count(), { timeout: 10_000 }).toBeGreaterThan(before)
}

/** A new user whose organization has this many keys and requests, in a browser with a meter. */
async function openWithRows(count: number): Promise<{ readonly page: Page; readonly meter: Meter }> {
  const { page, organizationId } = await cabinet.openSignedIn()
  const { rows } = await cabinet.pool.query<{ id: string }>(
    `with made as (
       insert into api_keys (id, organization_id, name, managed_by, daily_budget_nano)
       select gen_random_uuid(), $1, 'agent ' || lpad(n::text, 6, '0'), 'cabinet', 250000000000
         from generate_series(1, $2::int) n returning id),
     secrets as (
       insert into api_key_credentials (id, key_id, hash, prefix, suffix, delivered_at)
       select gen_random_uuid(), id, encode(sha256(id::text::bytea), 'hex'), 'sk-gateway-AbCd', 'WxYz', now() from made)
     select id from made`,
    [organizationId, count],
  )
  const sinceMs = Date.now() - 30 * 86_400_000
  const entries = rows.map(({ id: keyId }, index) => {
    const atMs = sinceMs + Math.floor((index / count) * 30 * 86_400_000)
    const record = recordOf({ tokens: { input: 1_234, output: 567 } })
    const customer = { organizationId, keyId, key: '' }
    return entryOf(customer, 123_456_789n, { requestId: uuidV7(atMs), record })
  })
  for (let from = 0; from < entries.length; from += 1_000)
    await postBatch(cabinet.pool, entries.slice(from, from + 1_000))
  return { page, meter: await meterOf(page) }
}
