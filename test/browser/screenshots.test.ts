import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { pageRoutes } from '#cabinet/ui/page-routes'
import { takesScreenshots } from '../support/environment.ts'
import { openBrowser, signInOwner } from './visitor.ts'

const folder = join(import.meta.dirname, 'screenshots')

/** Addresses of pages whose own have variable parts that are the same in every demo. */
const examples: Readonly<Record<string, string>> = {
  '/models/*': '/models/demo/echo',
  '/legal/:kind': '/legal/offer',
}

const paths = [...Object.keys(pageRoutes), '/nowhere']
  .map((path) => examples[path] ?? path)
  .filter((path) => !path.includes(':'))

/** One page only: `SCREENSHOTS=/app/keys`. */
const wanted = process.env.SCREENSHOTS?.startsWith('/') ? [process.env.SCREENSHOTS] : paths

describe.runIf(takesScreenshots)('pictures to look at', () => {
  for (const language of ['ru', 'en'] as const)
    for (const theme of ['light', 'dark'] as const)
      for (const width of [1280, 390])
        test(`${language}, ${theme}, ${width} px`, async () => {
          mkdirSync(folder, { recursive: true })
          const { page } = await openBrowser({ language, theme, width })
          await signInOwner(page)
          for (const path of wanted) {
            await page.goto(path)
            await page.locator('h1').first().waitFor()
            await page.waitForTimeout(400)
            const name = path.replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'start'
            await page.screenshot({
              path: join(folder, `${name}.${language}.${theme}.${width}.png`),
              fullPage: true,
            })
          }
        }, 180_000)
})
