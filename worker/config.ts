import { z } from 'zod'
import { type Sender, type SmtpServer, senderSetting, smtpUrlSetting } from '../mail/settings.ts'
import { refuseHalfAShop, type ShopSettings, shopOf, shopSettings } from '../payments/settings.ts'
import {
  countSetting,
  hostSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  redisUrlSetting,
  secretListSetting,
  spanMsSetting,
} from '../process/environment.ts'
import type { KeyList } from '../process/key-list.ts'

const settingsSchema = z.object({
  ...shopSettings,
  DATABASE_URL: postgresUrlSetting,
  REDIS_URL: redisUrlSetting,
  ROUTES_SIGNING_KEY: secretListSetting,
  WORKER_ADMIN_PORT: portSetting.default(9091),
  WORKER_HOST: hostSetting,
  DEFAULT_RPM: countSetting.default(600),
  DEFAULT_TPM: countSetting.default(2_000_000),
  RENEW_EVERY_MS: spanMsSetting.default(5_000),
  LEASE_MS: spanMsSetting.default(20_000),
  INVARIANTS_EVERY_MS: spanMsSetting.default(60_000),
  SMTP_URL: smtpUrlSetting.optional(),
  MAIL_FROM: senderSetting.optional(),
  LOG_LEVEL: logLevelSetting,
})

const envSchema = settingsSchema.superRefine((data, context) => {
  refuseHalfAShop(data, context)
  const { SMTP_URL, MAIL_FROM } = data
  if ((SMTP_URL === undefined) === (MAIL_FROM === undefined)) return
  context.addIssue({ code: 'custom', path: [SMTP_URL === undefined ? 'SMTP_URL' : 'MAIL_FROM'] })
})

/** The worker's settings; the README of this folder has the table. */
export type WorkerConfig = {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** The first signs the catalogue's documents; the gateways have the same. */
  readonly routesSigningKeys: KeyList<string>
  readonly adminPort: number
  readonly host: string
  /** Limits of a key that has none of its own, per minute. */
  readonly defaults: { readonly rpm: number; readonly tpm: number }
  /** How often gateways renew their holds; a new epoch waits for one round of it. Same value as the gateway's. */
  readonly renewEveryMs: number
  /** How long a hold lives without a renewal. Same value as the gateway's. */
  readonly leaseMs: number
  /** Time between two looks at the invariants of money. */
  readonly invariantsEveryMs: number
  /** Where letters go, and whom they come from; without both they wait. */
  readonly mail: { readonly server: SmtpServer; readonly from: Sender } | undefined
  /** Where people pay; `undefined`: nobody can. */
  readonly shop: ShopSettings | undefined
  readonly logLevel: string
}

/** Reads the worker's settings, once, at start-up. @throws BadEnvironment naming every wrong variable, and no value. */
export function readConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const data = readEnvironment('the worker', envSchema, env)
  const { SMTP_URL: server, MAIL_FROM: from } = data
  return {
    databaseUrl: data.DATABASE_URL,
    redisUrl: data.REDIS_URL,
    routesSigningKeys: data.ROUTES_SIGNING_KEY,
    adminPort: data.WORKER_ADMIN_PORT,
    host: data.WORKER_HOST,
    defaults: { rpm: data.DEFAULT_RPM, tpm: data.DEFAULT_TPM },
    renewEveryMs: data.RENEW_EVERY_MS,
    leaseMs: data.LEASE_MS,
    invariantsEveryMs: data.INVARIANTS_EVERY_MS,
    mail: server === undefined || from === undefined ? undefined : { server, from },
    shop: shopOf(data),
    logLevel: data.LOG_LEVEL,
  }
}
