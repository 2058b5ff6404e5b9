import { z } from 'zod'
import { setVariables } from '../process/environment.ts'

const port = z.coerce.number().int().min(0).max(65_535)

const envSchema = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  KEY_PEPPER: z.string().min(32),
  CABINET_PORT: port.default(3000),
  CABINET_ADMIN_PORT: port.default(9092),
  CABINET_HOST: z.string().default('0.0.0.0'),
  CABINET_RECEIPTS_PER_MINUTE: z.coerce.number().int().positive().default(60),
})

/** The settings of the cabinet's web process; the README of this folder has the table. */
export type WebConfig = {
  readonly databaseUrl: string
  /** Key of the HMAC that stands for API keys; the same in every process. */
  readonly keyPepper: string
  readonly port: number
  readonly adminPort: number
  readonly host: string
  /** Receipts that one key may read in a minute, from one replica. */
  readonly receiptsPerMinute: number
}

/**
 * Reads the settings once, at start-up. An empty variable is one that is not set.
 *
 * @throws Error naming every wrong or missing variable at once, and no value.
 */
export function readConfig(env: NodeJS.ProcessEnv): WebConfig {
  const parsed = envSchema.safeParse(setVariables(env))
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    throw new Error(`The settings of the cabinet's web process are wrong.\n${wrong.join('\n')}`)
  }
  const { data } = parsed
  return {
    databaseUrl: data.DATABASE_URL,
    keyPepper: data.KEY_PEPPER,
    port: data.CABINET_PORT,
    adminPort: data.CABINET_ADMIN_PORT,
    host: data.CABINET_HOST,
    receiptsPerMinute: data.CABINET_RECEIPTS_PER_MINUTE,
  }
}
