import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readOrMakeSecrets } from './secrets.ts'

function folder() {
  const dataDir = mkdtempSync(join(tmpdir(), 'mg-secrets-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const file = join(dataDir, 'secrets.json')
  return {
    dataDir,
    file,
    kept: (): unknown => JSON.parse(readFileSync(file, 'utf8')),
    mode: () => statSync(file).mode & 0o777,
  }
}

/** As a version wrote it that knew no others. */
const older = {
  keyPepper: 'p'.repeat(44),
  credentialsKey: Buffer.alloc(32).toString('base64'),
  routesSigningKey: 's'.repeat(44),
  redisPassword: 'r'.repeat(43),
}

test('a data folder gets its secrets once, which only its owner may read', () => {
  const { dataDir, kept, mode } = folder()
  const made = readOrMakeSecrets(dataDir)
  expect(new Set(Object.values(made)).size).toBe(14)
  expect(Buffer.from(made.cabinetSealingKey, 'base64')).toHaveLength(32)
  expect(readOrMakeSecrets(dataDir)).toEqual(made)
  expect([kept(), mode(), readdirSync(dataDir)]).toEqual([made, 0o600, ['secrets.json']])
})

test('a folder of an older version gets the secrets that it lacks and keeps the others, those of a later version too', () => {
  const { dataDir, file, kept, mode } = folder()
  const others = { ...older, ofALaterVersion: 'kept' }
  writeFileSync(file, JSON.stringify(others), { mode: 0o644 })
  const secrets = readOrMakeSecrets(dataDir)
  expect(secrets).toMatchObject(others)
  expect(secrets.redisCabinetPassword).toMatch(/^.{43}$/)
  expect(secrets.cabinetSealingKey).toMatch(/^.{43}=$/)
  expect(kept()).toEqual(secrets)
  expect(mode()).toBe(0o600)
  chmodSync(file, 0o644)
  expect(readOrMakeSecrets(dataDir)).toEqual(secrets)
  expect(mode()).toBe(0o600)
})

test('what a killed start has left, open to others, is never the secrets', () => {
  const { dataDir, file, kept, mode } = folder()
  writeFileSync(file, JSON.stringify(older))
  writeFileSync(`${file}.new`, '{"keyPepper": "half of')
  chmodSync(`${file}.new`, 0o644)
  const secrets = readOrMakeSecrets(dataDir)
  expect([kept(), mode(), readdirSync(dataDir)]).toEqual([secrets, 0o600, ['secrets.json']])
})

test('an invalid encryption key is rejected, and the file stays as it is', () => {
  const { dataDir, file, kept } = folder()
  const wrong = { ...older, cabinetSealingKey: 'too short' }
  writeFileSync(file, JSON.stringify(wrong))
  expect(() => readOrMakeSecrets(dataDir)).toThrow('cabinetSealingKey')
  expect(kept()).toEqual(wrong)
})
