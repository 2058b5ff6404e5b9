import { expect, test, vi } from 'vitest'
import { callFrom } from './signed-in-calls.ts'
import { openBrowser, register } from './visitor.ts'

test('a visit that logs an error, throws, violates the policy or calls another site is detected', async () => {
  const { page, complaints } = await openBrowser()
  await page.goto('/login')
  await page.evaluate(() => {
    // biome-ignore lint/suspicious/noConsole: the test must detect it
    console.error('planted')
    setTimeout(() => {
      throw new Error('thrown')
    })
    document.head.append(Object.assign(document.createElement('script'), { textContent: 'inline' }))
    fetch('http://127.0.0.1:9/blocked').catch(() => undefined)
  })
  await vi.waitFor(() => expect(complaints.join()).toContain('thrown')) // by a timer, which ends with its document
  await page.goto('http://127.0.0.1:9/elsewhere').catch(() => undefined)
  const noticed = [
    'planted',
    'thrown',
    'policy: script-src',
    'policy: connect-src',
    'called http://127.0.0.1:9/elsewhere',
  ]
  await vi.waitFor(() => {
    for (const part of noticed) expect(complaints.join('\n')).toContain(part)
  })
  complaints.splice(0)
})

const places: readonly (readonly [string, (secret: string) => unknown])[] = [
  ['an answer', (secret) => fetch(`/nowhere?${secret}`).then((answer) => answer.text())],
  ['a storage', (secret: string) => sessionStorage.setItem('kept', secret)],
  ['the history', (secret: string) => history.replaceState({ secret }, '')],
  ['an address that was left', (secret: string) => history.pushState(null, '', `?${secret}`)],
  ['a field', (secret: string) => Object.assign(document.querySelector('input') ?? {}, { value: secret })],
  // biome-ignore lint/suspicious/noConsole: the test must detect it
  ['the console', (secret: string) => console.log(secret)],
]

for (const [place, leave] of places)
  test(`a secret left in ${place} is detected`, async () => {
    const { page, traces } = await openBrowser()
    await page.goto('/login')
    await page.locator('input').first().waitFor()
    expect(await traces.placesOf('sk-a-secret')).toEqual([])
    await page.evaluate<unknown, string>(leave, 'sk-a-secret')
    await vi.waitFor(async () => expect(await traces.placesOf('sk-a-secret')).not.toEqual([]))
  })

test("a key's secret is learned from the response that created it, and detected anywhere else", async () => {
  const { page, traces } = await openBrowser()
  await register(page)
  const { secret } = JSON.parse((await callFrom(page, 'POST', '/keys', { name: 'Seen' })).text)
  expect(traces.secrets()).toEqual([secret])
  expect(await traces.placesOf(secret)).toEqual([])
  await page.evaluate((left) => sessionStorage.setItem('kept', left), secret)
  expect(await traces.placesOf(secret)).toEqual([expect.stringContaining('the storages')])
  await page.evaluate(() => sessionStorage.clear())
})
