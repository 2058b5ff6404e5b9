import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** What axe has against a page in light and in dark, a line per element. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  const lines: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const { violations } = await new AxeBuilder({ page }).withTags(tags).setLegacyMode().analyze()
    for (const { id, nodes } of violations)
      for (const { html, failureSummary } of nodes)
        lines.push(`${colorScheme} ${id}: ${html} ${failureSummary}`)
  }
  return lines
}
