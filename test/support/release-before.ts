import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { folderOfThisFile } from './folder.ts'

/** The release before this one: each release moves this mark to itself. */
const commit = 'a11c0cbd8612edcb49e65134b6bcb902127485f5'

const root = join(import.meta.dirname, '..', '..')
const tarBytesMax = 256 * 1024 * 1024

/**
 * The files of the release before this one, out of the history of this clone, with the dependencies of today; gone with
 * the test file. `undefined` where there is no history: in an archive of the sources.
 *
 * @throws Error saying what to run where the clone lacks that commit.
 */
export function releaseBeforeOfThisFile(): string | undefined {
  if (!existsSync(join(root, '.git'))) return undefined
  const folder = folderOfThisFile('release-before')
  const tar = readTar()
  execFileSync('tar', ['-x', '-C', folder], { input: tar })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

function readTar(): Buffer {
  try {
    return execFileSync('git', ['archive', '--format=tar', commit], {
      cwd: root,
      maxBuffer: tarBytesMax,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (cause) {
    throw new Error(
      `The release before this one, ${commit}, cannot be read from this clone. Run: git fetch --unshallow`,
      { cause },
    )
  }
}
