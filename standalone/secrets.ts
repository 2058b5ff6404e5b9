import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { newTotpSecret } from '#cabinet/people/totp-code'

const secret = z.string().min(32)
/** A secret that data folders of older versions lack. It is created if missing. */
const newerSecret = secret.default(() => randomBytes(32).toString('base64url'))
/** 32 bytes, in the format of its readers. */
const newerSealingKey = z
  .base64()
  .length(44)
  .default(() => randomBytes(32).toString('base64'))

// Loose: secrets of later versions are kept for when they run again.
const secretsSchema = z.looseObject({
  keyPepper: secret,
  credentialsKey: secret,
  routesSigningKey: secret,
  redisPassword: newerSecret,
  redisGatewayPassword: newerSecret,
  redisWorkerPassword: newerSecret,
  redisCabinetPassword: newerSecret,
  /** Encrypts data that only the cabinet may decrypt. No other process has it. */
  cabinetSealingKey: newerSealingKey,
  /** Encrypts administrators' second factors. Only the administration process has it. */
  administrationSealingKey: newerSealingKey,
  /**
   * The shop's key at the test payment provider (the prefix marks a test shop), and the secret of its notifications.
   */
  tillSecretKey: secret.default(() => `test_${randomBytes(32).toString('base64url')}`),
  webhookSecret: newerSecret,
  /** For the two seeded users. */
  demoPassword: newerSecret,
  adminPassword: newerSecret,
  /** Base32. */
  adminTotpSecret: secret.default(newTotpSecret),
})

/**
 * The secrets of one installation. Without the pepper, no API key works. Without the credentials key, no provider
 * works.
 */
export type Secrets = z.infer<typeof secretsSchema>

/**
 * The secrets in the data folder, created on the first start and readable only by their owner. Secrets that an older
 * version lacks are added atomically. Others never change.
 */
export function readOrMakeSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  const make = () => randomBytes(32).toString('base64')
  const first = () => ({ keyPepper: make(), credentialsKey: make(), routesSigningKey: make() })
  const secrets = secretsSchema.parse(before === undefined ? first() : JSON.parse(before))
  const after = `${JSON.stringify(secrets, null, 2)}\n`
  if (after === before) chmodSync(file, 0o600)
  else replace(file, after)
  return secrets
}

/** Writes a file that only its owner may read. The file is replaced atomically. */
function replace(file: string, text: string): void {
  const unfinished = `${file}.new`
  rmSync(unfinished, { force: true }) // left by a killed start, and may be readable by others
  const descriptor = openSync(unfinished, 'wx', 0o600)
  try {
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(unfinished, file)
}
