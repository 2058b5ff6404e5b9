import { execFile } from 'node:child_process'
import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, inheritedEnvironment } from '../support/environment.ts'
import { withFileLock } from '../support/file-lock.ts'

const run = promisify(execFile)
const version = '3.54.0'
const timeoutMs = 300_000

/** Runs a program with OpenAI's Python SDK, which is installed once into the cache outside of the checkout. */
export async function runPython(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await run(await findPython(), [join(import.meta.dirname, program), ...args], {
    env: { ...inheritedEnvironment, ...env },
    timeout: timeoutMs,
  })
  return stdout
}

async function findPython(): Promise<string> {
  const folder = join(cacheFolder, 'openai-python', version)
  const isWhole = join(folder, 'is-whole')
  const python = join(folder, 'bin/python')
  await mkdir(folder, { recursive: true })
  return withFileLock(join(folder, 'lock'), async () => {
    if (await isThere(isWhole)) return python
    await run('python3', ['-m', 'venv', folder], { timeout: timeoutMs })
    await run(python, ['-m', 'pip', 'install', '--quiet', `openai==${version}`], { timeout: timeoutMs })
    await mkdir(isWhole)
    return python
  })
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
