import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { startStandalone } from '../support/standalone.ts'
import { findChromium } from './chromium.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The output of `npm start --json`, once for the whole run. */
    systemReady: string
    /** The address of the run's Chromium. */
    chromiumEndpoint: string
  }
}

/** One `npm start` with its own data folder, and one Chromium, for all files of the project. */
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
