import { expect, test } from 'vitest'
import { aPassword } from '../support/cabinet.ts'
import { ownCabinetOfThisFile } from './own-cabinet.ts'
import { openBrowser } from './visitor.ts'
import { meterOf } from './vitals.ts'

const cabinet = await ownCabinetOfThisFile()
const slowness = 6
/** A phone: about a sixth of this machine. */
const solvingMsMax = 2_000

test('a proof of work is computed in the background, within 2 s on a processor six times slower', async () => {
  const { email } = await cabinet.signUp()
  const { page } = await openBrowser({}, { baseURL: cabinet.url })
  const meter = await meterOf(page)
  await page.goto('/login')
  const tooMany = await page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' }
    // A different account each time: the limit counts the address.
    const call = (n: number) => {
      const body = JSON.stringify({ email: `nobody-${n}@example.com`, password: 'x' })
      return fetch('/api/v1/auth/login', { method: 'POST', headers, body })
    }
    let status = 0
    for (let n = 0; n < 40 && status !== 428; n++) status = (await call(n)).status
    return status
  })
  expect(tooMany).toBe(428)
  await page.locator('[name=email]').fill(email)
  await page.locator('[name=password]').fill(aPassword)
  await meter.slowDown(slowness)
  const asked = page.waitForResponse((response) => response.status() === 428)
  const proven = page.waitForRequest((request) => 'proof-of-work' in request.headers())
  await page.locator('form [type=submit]').click()
  const askedAtMs = await asked.then(() => performance.now())
  const request = await proven
  const tookMs = performance.now() - askedAtMs
  // The browser does not slow down the threads that derive keys, so their time is multiplied.
  const { solution } = JSON.parse(Buffer.from(request.headers()['proof-of-work'] ?? '', 'base64').toString())
  const derivedMs = await page.evaluate(deriveOnce)
  const phoneMs = tookMs + (slowness - 1) * derivedMs * (solution.counter + 1)
  process.stdout.write(
    `a proof of ${solution.counter + 1} keys: ${Math.round(tookMs)} ms, ${Math.round(phoneMs)} ms with slower threads\n`,
  )
  expect(tookMs).toBeLessThan(solvingMsMax)
  expect(phoneMs).toBeLessThan(solvingMsMax)
  await meter.slowDown(1)
  await page.waitForURL('**/app')
})

/**
 * How long the browser's threads need for one key, in ms: measured over many at once, so that only the threads count.
 */
async function deriveOnce(): Promise<number> {
  const key = await crypto.subtle.importKey('raw', new Uint8Array(20), 'PBKDF2', false, ['deriveBits'])
  const once = 5_000
  const times = 200
  const from = performance.now()
  const parameters = { name: 'PBKDF2', salt: new Uint8Array(16), iterations: once * times, hash: 'SHA-256' }
  await crypto.subtle.deriveBits(parameters, key, 256)
  return (performance.now() - from) / times
}
