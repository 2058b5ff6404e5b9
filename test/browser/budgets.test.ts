import { describe, expect, test } from 'vitest'
import { createModel, createProvider } from '../support/catalogue.ts'
import { measureSlowness } from '../support/processor-speed.ts'
import { addressesFor, settle } from './addresses.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { openBrowser, signInOwner } from './visitor.ts'
import { type Meter, meterOf, type Vitals } from './vitals.ts'

const cabinet = await ownCabinetOfThisFile()

const budget = {
  ...{ initialScriptBytes: 150_000, styleBytes: 15_000, chunkBytes: 60_000 },
  ...{ lcpMs: 1_000, slowLcpMs: 2_500, cls: 0.05, inpMs: 200 },
}

/** Neighbours share the processors: what is within its budget once can be. */
const triesMax = 3

describe('what opening each page costs', () => {
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
    ...[`\`${name}\``, kB(usual.initialScripts), kB(chunks)],
    ...[usual.lcpMs.toFixed(0), slow.lcpMs.toFixed(0), Math.max(usual.cls, slow.cls).toFixed(3)],
  ]
  return `| ${cells.join(' | ')} |`
}

describe('how quickly a page answers, on a processor four times slower', () => {
  /** The best of three: `act` must do the same each time. */
  async function inpOf(meter: Meter, act: () => Promise<void>): Promise<number> {
    let best = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < triesMax && best > budget.inpMs; tries++)
      best = Math.min(best, await meter.inpOf(act))
    return best
  }

  test('typing into the filter of 500 models', async () => {
    await createProvider(cabinet.pool, { name: 'many', baseUrl: 'http://127.0.0.1:1' })
    for (let index = 0; index < 500; index++)
      await createModel(cabinet.pool, `vendor-${index % 20}/model-${index}`, 'many', {
        contextLength: 128_000,
      })
    const { page } = await openBrowser({}, { baseURL: cabinet.url })
    const meter = await meterOf(page)
    await meter.open('/models', () => settle(page))
    await page.locator('main a[href^="/models/vendor-"]').first().waitFor()
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
    expect(made.status()).toBe(201)
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
