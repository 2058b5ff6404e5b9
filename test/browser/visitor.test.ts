import { expect, test, vi } from 'vitest'
import { tracesFromNowOn } from './traces.ts'
import { openBrowser } from './visitor.ts'

test('a visit that logs an error, throws, breaks the policy or calls somebody else is noticed', async () => {
  const { page, complaints } = await openBrowser()
  await page.goto('/login')
  await page.evaluate(() => {
    // biome-ignore lint/suspicious/noConsole: it is what must be noticed
    console.error('planted')
    setTimeout(() => {
      throw new Error('thrown')
    })
    document.head.append(Object.assign(document.createElement('script'), { textContent: 'inline' }))
    fetch('http://127.0.0.1:9/blocked').catch(() => undefined)
  })
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
  ['a field', (secret: string) => Object.assign(document.querySelector('input') ?? {}, { value: secret })],
  // biome-ignore lint/suspicious/noConsole: it is what must be found
  ['the console', (secret: string) => console.log(secret)],
]

for (const [place, leave] of places)
  test(`a secret that is left in ${place} is found`, async () => {
    const { page } = await openBrowser()
    await page.goto('/login')
    await page.locator('input').first().waitFor()
    const traces = tracesFromNowOn(page)
    await traces.expectWithout('sk-a-secret')
    await page.evaluate<unknown, string>(leave, 'sk-a-secret')
    await vi.waitFor(() => expect(traces.expectWithout('sk-a-secret')).rejects.toThrow('to deeply equal'))
  })
