import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createPool } from '#core/db/pool'
import { nanoRub } from '#core/ledger/money'
import { followManifests } from '#standalone/manifests/follow-manifests'
import { findFreePort } from '#standalone/port'
import { pepper } from '../support/customer.ts'
import { folderOfThisTest } from '../support/folder.ts'

test('while the database is down that is printed once, and a bad document once', async () => {
  const folder = folderOfThisTest('follow')
  writeFileSync(join(folder, 'bad.yaml'), 'kind: [')
  const pool = createPool({
    databaseUrl: `postgres://nobody@127.0.0.1:${await findFreePort()}/none`,
    applicationName: 'follow-test',
  })
  const said: string[] = []
  let passes = 0
  const following = await followManifests({
    pool,
    dataDir: folderOfThisTest('follow-data'),
    keyPepper: pepper,
    sealingKeys: [Buffer.alloc(32, 7)],
    openingBalance: nanoRub(0n),
    folder,
    environment: {
      get OPENAI_API_KEY() {
        passes++ // each look asks for it
        return 'sk-x'
      },
    },
    tell: (line) => said.push(line),
    onKeySecret: () => undefined,
  })
  onTestFinished(async () => {
    await following.stop()
    await pool.end()
  })
  await vi.waitFor(() => expect(passes).toBeGreaterThan(8), { timeout: 15_000 })
  expect(said).toEqual([
    expect.stringContaining('bad.yaml:1  the document: '),
    expect.stringContaining(
      'manifests: could not be applied, will retry; earlier manifests stay in effect: ',
    ),
  ])
})
