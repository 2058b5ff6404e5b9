import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const secret = z.string().min(32)
/** One that data folders of older versions lack: it is made when it is missing. */
const newerSecret = secret.default(() => randomBytes(32).toString('base64url'))

const secretsSchema = z.object({
  keyPepper: secret,
  credentialsKey: secret,
  routesSigningKey: secret,
  redisPassword: newerSecret,
  redisGatewayPassword: newerSecret,
  redisWorkerPassword: newerSecret,
  redisCabinetPassword: newerSecret,
})

/** The secrets of one installation: without the pepper no API key works, without the credentials key no provider. */
export type Secrets = z.infer<typeof secretsSchema>

/** The secrets in the data folder, created at the first start; readable by their owner only. */
export function readOrMakeSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  const make = () => randomBytes(32).toString('base64')
  const first = () => ({ keyPepper: make(), credentialsKey: make(), routesSigningKey: make() })
  const secrets = secretsSchema.parse(before === undefined ? first() : JSON.parse(before))
  const after = `${JSON.stringify(secrets, null, 2)}\n`
  if (after === before) return secrets
  writeFileSync(`${file}.new`, after, { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return secrets
}
