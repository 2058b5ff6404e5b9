import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createFolderReader, readFingerprint } from '#standalone/manifests/internal/read-folder'
import { folderOfThisTest } from '../support/folder.ts'

const filesMax = 10_000

test('a file beyond the most that are read is reported, and may be about anything: nothing is removed for it', async () => {
  const folder = folderOfThisTest('many-files')
  const document = (name: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\nstringData: {key: x}\n`
  for (let n = 0; n < filesMax + 2; n++)
    writeFileSync(
      join(folder, `${String(n).padStart(5, '0')}.yaml`),
      n === 0 ? document('first') : '# none\n',
    )
  const reader = createFolderReader(folder)
  const { manifests, problems } = await reader.read()
  expect(manifests.map(({ resource }) => resource.metadata.name)).toEqual(['first'])
  expect(problems).toEqual([
    {
      position: { file: join(folder, '10000.yaml'), line: 1 },
      what: 'the file',
      reason: 'is ignored, like every file after it by name: the folder has 10002 files, the limit is 10000',
      about: null,
    },
  ])

  const before = await readFingerprint(folder)
  for (const name of ['10000.yaml', '10001.yaml']) rmSync(join(folder, name))
  expect(await readFingerprint(folder)).not.toBe(before)
  expect((await reader.read()).problems).toEqual([])
}, 30_000)
