import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findKeptKey, forgetKey, keepKey } from '#standalone/keys/key-file'
import { folderOfThisTest } from '../support/folder.ts'

test('each kept secret has its own file, whatever the names, and there is no other file', () => {
  const dataDir = folderOfThisTest('keys')
  const names = ['ci.new', 'ci', 'a'.repeat(253)]
  for (const name of names) keepKey(dataDir, name, `value of ${name}`)
  keepKey(dataDir, 'ci', 'another')
  expect(names.map((name) => findKeptKey(dataDir, name))).toEqual([
    'value of ci.new',
    'another',
    `value of ${names[2]}`,
  ])
  expect(readdirSync(join(dataDir, 'keys')).toSorted()).toEqual(names.toSorted())
  expect(statSync(join(dataDir, 'keys', 'ci')).mode & 0o777).toBe(0o600)
  forgetKey(dataDir, 'ci')
  expect([findKeptKey(dataDir, 'ci'), findKeptKey(dataDir, 'ci.new')]).toEqual([undefined, 'value of ci.new'])
})
