import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const standard = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']

/** What axe cannot decide, and why it is correct. Anything else undecided fails the test. */
const explained: readonly { readonly rule: string; readonly reason: RegExp; readonly why: string }[] = [
  {
    rule: 'color-contrast',
    reason: /only non-text characters.*aria-hidden="true"/,
    why: 'the sign of the ruble in a field: its colour is that of other muted texts, which are looked at',
  },
  {
    rule: 'color-contrast',
    reason: /partially obscured by another element <code/,
    why: 'a line of code that is longer than its block, which scrolls: the rest of it is looked at',
  },
  {
    rule: 'th-has-data-cells',
    reason: /<th scope="rowgroup"/,
    why: 'the heading of a group of rows, a scope that axe does not look at: the cells are in its <tbody>',
  },
]

/** What axe reports for the present page, one line per element; `?` marks undecided findings. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  return analyse(page, (axe) => axe.withTags(standard))
}

/** Only the color rules: for a second theme of a page that was checked completely. */
export async function findColourViolations(page: Page): Promise<readonly string[]> {
  return analyse(page, (axe) => axe.withRules(['color-contrast', 'link-in-text-block']))
}

/** Fails if axe finds a violation of WCAG 2.2 A or AA, light or dark, or something that it cannot decide. */
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
  const isThere = await page.evaluate(() => 'axe' in window) // half a megabyte: once per document is enough
  const builder = new AxeBuilder({ page, ...(isThere && { axeSource: 'void 0' }) })
  const axe = limit(builder.options({ resultTypes: ['violations', 'incomplete'] }))
  const { violations, incomplete } = await axe.setLegacyMode().analyze()
  const open = incomplete.flatMap(linesOf).filter((line) => !isExplained(line))
  return [...violations.flatMap(linesOf), ...open.map((line) => `? ${line}`)]
}

/**
 * Waits for fade-ins to reach their final colors; endless animations are skipped. Scrolls so that no text is under the
 * top bar, where axe could not determine the background.
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
    const checks = [...any, ...all, ...none]
    const reasons = checks.map(({ message }) => message).join(' ')
    const related = checks.flatMap(({ relatedNodes = [] }) =>
      relatedNodes.map((node) => node.html.slice(0, 80)),
    )
    return `${id} at ${target.join(' ')}: ${reasons} ${html.slice(0, 160)} ${related.join(' ')}`
  })
}

function isExplained(line: string): boolean {
  return explained.some(({ rule, reason }) => line.startsWith(`${rule} `) && reason.test(line))
}
