import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { placeFilesOf } from '#standalone/database-files'
import { folderOfThisTest } from '../support/folder.ts'

const write = (file: string, text: string) => writeFileSync(file, text)

/** A data folder as a run with a database leaves it. */
function fill(dataDir: string, owner: string): void {
  for (const folder of ['redis', 'keys']) {
    mkdirSync(join(dataDir, folder))
    write(join(dataDir, folder, 'what'), owner)
  }
  for (const file of ['manifests.json', 'till.jsonl']) write(join(dataDir, file), owner)
}

function inPlace(dataDir: string): readonly string[] {
  const files = ['keys/what', 'manifests.json', 'redis/what', 'till.jsonl'].map((file) => join(dataDir, file))
  return files.map((file) => readFileSync(file, 'utf8'))
}

const whole = (owner: string) => [owner, owner, owner, owner]

test('each database finds its own files, an unknown one none; those of a folder without a note are the first one’s', () => {
  const dataDir = folderOfThisTest('files')
  fill(dataDir, 'a')
  write(join(dataDir, 'secrets.json'), 'kept')
  placeFilesOf('a', dataDir)
  expect(inPlace(dataDir)).toEqual(whole('a'))
  placeFilesOf('b', dataDir)
  expect(readdirSync(dataDir).toSorted()).toEqual(['database', 'databases', 'secrets.json'])
  fill(dataDir, 'b')
  placeFilesOf('a', dataDir)
  expect(inPlace(dataDir)).toEqual(whole('a'))
  placeFilesOf('b', dataDir)
  expect(inPlace(dataDir)).toEqual(whole('b'))
})

test.each(['a', 'b'])(
  'killed while files are moved, nothing is mixed up: the next start is with %s',
  (next) => {
    for (const killedWhile of ['moving out', 'moving in']) {
      const dataDir = folderOfThisTest('files-killed')
      const aside = (owner: string) => join(dataDir, 'databases', owner)
      fill(dataDir, 'b')
      placeFilesOf('b', dataDir)
      placeFilesOf('a', dataDir)
      fill(dataDir, 'a')
      const [from, to] = killedWhile === 'moving out' ? [dataDir, aside('a')] : [aside('b'), dataDir]
      if (killedWhile === 'moving in') {
        placeFilesOf('c', dataDir) // a is aside, nothing in place
        write(join(dataDir, 'database'), 'b\n')
      }
      mkdirSync(to, { recursive: true })
      renameSync(join(from, 'keys'), join(to, 'keys'))
      placeFilesOf(next, dataDir)
      expect(inPlace(dataDir)).toEqual(whole(next))
      const other = next === 'a' ? 'b' : 'a'
      placeFilesOf(other, dataDir)
      expect(inPlace(dataDir)).toEqual(whole(other))
    }
  },
)
