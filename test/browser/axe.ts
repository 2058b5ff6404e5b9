import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const standard = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']

/** What axe cannot decide by itself, and why it is well. Anything else that it leaves open fails the test. */
const explained: readonly { readonly rule: string; readonly reason: RegExp; readonly why: string }[] = [
  {
    ...{ rule: 'color-contrast', reason: /only non-text characters.*aria-hidden="true"/ },
    why: 'the sign of the rouble in a field: its colour is that of other muted texts, which are looked at',
  },
  {
    ...{ rule: 'color-contrast', reason: /partially obscured by another element <code/ },
    why: 'a line of code that is longer than its block, which scrolls: the rest of it is looked at',
  },
]

/** What axe has to say against a page as it stands, one line for each element; `?` before what it leaves open. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  return analyse(page, (axe) => axe.withTags(standard))
}

/** The same by the rules on colours alone: for a second theme of a page that was looked at as a whole. */
export async function findColourViolations(page: Page): Promise<readonly string[]> {
  return analyse(page, (axe) => axe.withRules(['color-contrast', 'link-in-text-block']))
}

/** Fails unless axe finds nothing on the page, light or dark, and nothing that it cannot decide: WCAG 2.2, A and AA. */
export async function expectNoViolations(page: Page): Promise<void> {
  const found = await findViolations(page)
  const isDark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  await page.emulateMedia({ colorScheme: isDark ? 'light' : 'dark' })
  const inOtherColours = await findColourViolations(page)
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' })
  expect([...found, ...inOtherColours], page.url()).toEqual([])
}

async function analyse(page: Page, limit: (axe: AxeBuilder) => AxeBuilder): Promise<readonly string[]> {
  await untilStill(page)
  const isThere = await page.evaluate(() => 'axe' in window) // half a megabyte, once per document is enough
  const builder = new AxeBuilder({ page, ...(isThere && { axeSource: 'void 0' }) })
  const axe = limit(builder.options({ resultTypes: ['violations', 'incomplete'] }))
  const { violations, incomplete } = await axe.setLegacyMode().analyze()
  const open = incomplete.flatMap(linesOf).filter((line) => !isExplained(line))
  return [...violations.flatMap(linesOf), ...open.map((line) => `? ${line}`)]
}

/**
 * What fades in has its final colours only at the end; what breathes for ever has no end. And no text lies under the bar at
 * the top, where axe could not tell what is behind it.
 */
async function untilStill(page: Page): Promise<void> {
  await page.evaluate(async () => {
    scrollTo({ top: 0, behavior: 'instant' })
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const passing = document
      .getAnimations()
      .filter((each) => each.effect?.getComputedTiming().endTime !== Infinity)
    await Promise.allSettled(passing.map(({ finished }) => finished))
  })
}

type Found = Awaited<ReturnType<AxeBuilder['analyze']>>['violations'][number]

function linesOf({ id, nodes }: Found): readonly string[] {
  return nodes.map(({ target, any, all, none, html }) => {
    const reasons = [...any, ...all, ...none].map(({ message }) => message).join(' ')
    return `${id} at ${target.join(' ')}: ${reasons} ${html.slice(0, 160)}`
  })
}

function isExplained(line: string): boolean {
  return explained.some(({ rule, reason }) => line.startsWith(`${rule} `) && reason.test(line))
}
