import type { Page, Response } from 'playwright-core'
import { expect } from 'vitest'

/** Whatever a browser was told, says and keeps from a moment on. */
export type Traces = {
  /** Fails if the text is, or since that moment was, anywhere: for a secret that was shown for the only time. */
  expectWithout(text: string): Promise<void>
}

/** Begins to listen to everything in this page's browser; call it the moment after which a text may be nowhere. */
export function tracesFromNowOn(page: Page): Traces {
  const context = page.context()
  const heard: Promise<string>[] = []
  const hear = (text: string) => void heard.push(Promise.resolve(text))
  context.on('response', (response) => void heard.push(readWhole(response)))
  context.on('console', (line) => hear(line.text()))
  context.on('weberror', (thrown) => hear(String(thrown.error())))
  for (const one of context.pages()) one.on('framenavigated', (frame) => hear(frame.url()))
  return {
    async expectWithout(text) {
      const kept = await Promise.all(context.pages().map(readKept))
      const cookies = JSON.stringify(await context.storageState({ indexedDB: true }))
      const places = [...(await Promise.all(heard)), ...kept, cookies].filter((place) => place.includes(text))
      expect(places.map((place) => place.slice(0, 300))).toEqual([])
    },
  }
}

/** Its address and its body; one that goes on for ever is looked at where it is shown. */
async function readWhole(response: Response): Promise<string> {
  const isEndless = (response.headers()['content-type'] ?? '').startsWith('text/event-stream')
  const body = isEndless ? '' : await response.text().catch(() => '')
  return `${response.url()} ${JSON.stringify(response.headers())} ${body}`
}

/** The document with what was typed into it, its storages, and what the browser keeps of its history. */
function readKept(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const typed = [...document.querySelectorAll<HTMLInputElement>('input, textarea')].map(
      ({ value }) => value,
    )
    const storages = JSON.stringify([{ ...localStorage }, { ...sessionStorage }, await caches.keys()])
    return [
      ...[document.documentElement.outerHTML, document.title, location.href, window.name],
      ...[storages, document.cookie, JSON.stringify(history.state), ...typed],
    ].join('\n')
  })
}
