import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { startStandalone } from '../support/standalone.ts'
import { findChromium } from './chromium.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What `npm start --json` said, once for the whole run. */
    systemReady: string
    /** Where the run's Chromium listens. */
    chromiumEndpoint: string
  }
}

/** One `npm start` in a data folder of its own, and one Chromium, for all files of the project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const executablePath = findChromium(process.env)
  const dataDir = mkdtempSync(join(tmpdir(), 'mg-browser-'))
  const [system, browser] = await Promise.all([
    startStandalone({ DATA_DIR: dataDir }),
    chromium.launchServer({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] }),
  ])
  project.provide('systemReady', JSON.stringify(system))
  project.provide('chromiumEndpoint', browser.wsEndpoint())
  return async () => {
    await browser.close()
    await system.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
