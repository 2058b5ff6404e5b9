import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from './environment.ts'
import { withFileLock } from './file-lock.ts'
import { goProgram } from './go-program.ts'
import { isThere } from './is-there.ts'

/** A program of a Go module. */
export type GoModule = {
  /** Of the program, and of its folder in the cache. */
  readonly name: string
  /** For example `helm.sh/helm/v4/cmd/helm`. */
  readonly path: string
  readonly version: string
}

/** Two minutes for the largest on two idle cores. */
const buildTimeoutMs = 1_800_000

/**
 * The path of the program, built once into the cache outside of the checkout.
 *
 * @throws Error with Go's output.
 */
export async function findGoModule(
  { name, path, version }: GoModule,
  say: (line: string) => void = () => undefined,
): Promise<string> {
  const folder = join(cacheFolder, name, version)
  const program = join(folder, name)
  if (await isThere(program)) return program
  await mkdir(folder, { recursive: true })
  return withFileLock(join(folder, 'lock'), async () => {
    if (await isThere(program)) return program
    say(`${name} ${version}: built from its Go module, once (at most 2 minutes)`)
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' }
    await promisify(execFile)(await goProgram(), ['install', `${path}@${version}`], {
      env,
      timeout: buildTimeoutMs,
    })
    return program
  })
}
