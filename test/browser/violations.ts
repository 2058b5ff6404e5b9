import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

const standard = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']

/** What axe has to say against a page as it stands, in the light and in the dark. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    // What fades in has its final colours only at the end.
    await page.evaluate(`Promise.allSettled(
      document.getAnimations()
        .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
        .map(({ finished }) => finished),
    ).then(() => undefined)`)
    const { violations } = await new AxeBuilder({ page }).withTags(standard).analyze()
    for (const { id, nodes } of violations)
      found.push(...nodes.map(({ html }) => `${colorScheme}: ${id} at ${html.slice(0, 160)}`))
  }
  return found
}
