import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll } from 'vitest'
import { inheritedEnvironment } from '../support/environment.ts'
import { findHelm } from '../support/helm.ts'
import { kubeconfig } from './settings.ts'

const root = join(import.meta.dirname, '../..')

/**
 * A user who follows a document: in a folder like the root of this repository, where files may be written.
 */
export type Reader = {
  readonly writeFile: (name: string, text: string) => void
  readonly readFile: (name: string) => string
  /** Pastes commands into one shell, which ends at the first that fails. Answers what they wrote. @throws Error with all of it. */
  readonly follow: (commands: readonly string[], env?: Readonly<Record<string, string>>) => Promise<string>
}

export async function readerOfThisFile(): Promise<Reader> {
  const folder = await mkdtemp(join(tmpdir(), 'mg-reader-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  for (const name of readdirSync(root).filter((name) => !name.startsWith('.')))
    await symlink(join(root, name), join(folder, name))
  const PATH = `${dirname(await findHelm(undefined, 3))}:${dirname(process.execPath)}:${inheritedEnvironment.PATH}`
  return {
    writeFile: (name, text) => writeFileSync(join(folder, name), text),
    readFile: (name) => readFileSync(join(folder, name), 'utf8'),
    follow: async (commands, env = {}) => {
      const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands.join('\n')], {
        env: { PATH, HOME: folder, KUBECONFIG: kubeconfig, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: folder,
      })
      let said = ''
      for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (said += String(chunk)))
      const [code] = await once(shell, 'close')
      if (code !== 0) throw new Error(`${commands.join('\n')}\nended with ${code}:\n${said}`)
      return said
    },
  }
}
