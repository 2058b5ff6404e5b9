import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { cacheFolder } from '../support/environment.ts'
import { withFileLock } from '../support/file-lock.ts'
import { isThere } from '../support/is-there.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where clients for Node are installed. */
    clientsModules: string
    /** A Python that finds the clients for Python. */
    clientsPython: string
  }
}

const run = promisify(execFile)
const pinned = join(import.meta.dirname, 'pinned')
/** A first run downloads about 300 MB. */
const installTimeoutMs = 480_000
const outputBytesMax = 16 * 1024 * 1024

/**
 * Installs the clients that `pinned/` names, once per machine and content, outside of the
 * checkout. Runs once before the tests.
 *
 * @throws Error with the output of npm or pip.
 */
export async function setup(project: TestProject): Promise<void> {
  const [node, python] = await Promise.all([
    installOnce('node', ['package.json', 'package-lock.json', '.npmrc'], installForNode),
    installOnce('python', ['requirements.txt'], installForPython),
  ])
  project.provide('clientsModules', join(node, 'node_modules'))
  project.provide('clientsPython', pythonIn(python))
}

const pythonIn = (folder: string) => join(folder, 'venv/bin/python')

/** A folder is whole once it has this file. */
const markOfWhole = 'installed'

async function installOnce(
  name: string,
  files: readonly string[],
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(join(pinned, file)))
  const parent = join(cacheFolder, 'clients')
  const folder = join(parent, `${name}-${hash.digest('hex').slice(0, 16)}`)
  const isWhole = () => isThere(join(folder, markOfWhole))
  if (await isWhole()) return folder
  await mkdir(parent, { recursive: true })
  await withFileLock(`${folder}.lock`, async () => {
    if (await isWhole()) return
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder)
    for (const file of files) await copyFile(join(pinned, file), join(folder, file))
    await install(folder)
    await writeFile(join(folder, markOfWhole), '')
  })
  return folder
}

async function installForNode(folder: string): Promise<void> {
  await command('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder)
}

async function installForPython(folder: string): Promise<void> {
  await command('python3', ['-m', 'venv', 'venv'], folder)
  await command(pythonIn(folder), ['-m', 'pip', 'install', '--quiet', '-r', 'requirements.txt'], folder)
}

async function command(program: string, parameters: readonly string[], cwd: string): Promise<void> {
  try {
    await run(program, [...parameters], { cwd, timeout: installTimeoutMs, maxBuffer: outputBytesMax })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    throw new Error(
      `Clients could not be installed by ${program} ${parameters.join(' ')}:\n${stdout}${stderr}\n` +
        'They need npm, Python 3.10 or newer with venv, and the registries of both.',
      { cause: error },
    )
  }
}
