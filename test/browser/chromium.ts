import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** A Chromium: from `CHROMIUM`, in PATH, or installed if possible. @throws Error with instructions */
export function findChromium(env: NodeJS.ProcessEnv): string {
  if (env.CHROMIUM !== undefined) return env.CHROMIUM
  const found = findInPath(env)
  if (found !== undefined) return found
  const notInstalled = new Error(
    'The browser tests need a Chromium: install one, or set CHROMIUM to its path.',
  )
  if (process.getuid?.() !== 0) throw notInstalled
  try {
    // A new machine has no package lists yet, and no font with Cyrillic letters and the ruble sign.
    for (const args of [
      ['update'],
      ['install', '-y', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
    ])
      execFileSync('apt-get', args, { stdio: 'ignore', env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } })
  } catch {
    throw notInstalled
  }
  const installed = findInPath(env)
  if (installed === undefined) throw notInstalled
  return installed
}

function findInPath({ PATH = '' }: NodeJS.ProcessEnv): string | undefined {
  const candidates = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
  return candidates.find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
