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
import { newTotpSecret } from '#cabinet/people/made-person'

const secret = z.string().min(32)
/** One that data folders of older versions lack: it is made when it is missing. */
const newerSecret = secret.default(() => randomBytes(32).toString('base64url'))
/** 32 bytes, as what seals with it reads them. */
const newerSealingKey = z
  .base64()
  .length(44)
  .default(() => randomBytes(32).toString('base64'))

// Loose: what a later version has made is kept for the day when it is started again.
const secretsSchema = z.looseObject({
  keyPepper: secret,
  credentialsKey: secret,
  routesSigningKey: secret,
  redisPassword: newerSecret,
  redisGatewayPassword: newerSecret,
  redisWorkerPassword: newerSecret,
  redisCabinetPassword: newerSecret,
  /** Seals what the cabinet alone may open; no other process has it. */
  cabinetSealingKey: newerSealingKey,
  /** Ours at the till, which is a test shop as its beginning says, and that of its notifications. */
  tillSecretKey: secret.default(() => `test_${randomBytes(32).toString('base64url')}`),
  webhookSecret: newerSecret,
  /** Of the two people that `npm start` makes. */
  demoPassword: newerSecret,
  adminPassword: newerSecret,
  /** Base32. */
  adminTotpSecret: secret.default(newTotpSecret),
})

/** The secrets of one installation: without the pepper no API key works, without the credentials key no provider. */
export type Secrets = z.infer<typeof secretsSchema>

/**
 * The secrets in the data folder, created at the first start; readable by their owner only. Those that an older version
 * did not know are added, completely or not at all, and no other changes.
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

/** Writes a file that only its owner may read; whatever happens there is the old one or the whole new one. */
function replace(file: string, text: string): void {
  const unfinished = `${file}.new`
  rmSync(unfinished, { force: true }) // of a start that was killed: it may be open to others
  const descriptor = openSync(unfinished, 'wx', 0o600)
  try {
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(unfinished, file)
}
