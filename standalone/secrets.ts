import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const secretsSchema = z.object({
  keyPepper: z.string().min(32),
  credentialsKey: z.string().min(32),
  routesSigningKey: z.string().min(32),
})

/** The secrets of one installation: without the pepper no API key works, without the credentials key no provider. */
export type Secrets = z.infer<typeof secretsSchema>

/** The secrets in the data folder, created at the first start; readable by their owner only. */
export function readOrMakeSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json')
  if (existsSync(file)) return secretsSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  const make = () => randomBytes(32).toString('base64')
  const secrets = { keyPepper: make(), credentialsKey: make(), routesSigningKey: make() }
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  return secrets
}
