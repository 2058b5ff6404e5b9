import { z } from 'zod'
import { type Sender, type SmtpServer, senderSetting, smtpUrlSetting } from '#cabinet/mail/mail-settings'
import { telegramTokenSetting, telegramUrlSetting } from '#cabinet/notifications/telegram-settings'
import { refuseHalfAShop, type ShopSettings, shopOf, shopSettings } from '#cabinet/payments/payment-settings'
import { clickHouseUrlSetting, keptDaysSetting } from '#core/archive/archive-setting'
import { allowedCidrsSetting } from '#core/catalog/address-setting'
import { type TrialRules, trialRulesOf, trialSettings } from '#core/ledger/trial-settings'
import {
  countSetting,
  hostSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  redisUrlsSetting,
  secretListSetting,
  spanMsSetting,
} from '#core/process/environment'
import type { KeyList } from '#core/process/key-list'
import type { Warn } from '#core/process/start-or-exit'
import type { RedisUrls } from '#core/redis/open-redis'

const settingsSchema = z.object({
  ...shopSettings,
  ...trialSettings,
  /** Postgres, as the role `model_gateway_worker`. */
  DATABASE_URL: postgresUrlSetting,
  /** Redis, as the user `model_gateway_worker`. Several nodes of one cluster are separated by commas. */
  REDIS_URL: redisUrlsSetting,
  /** Key list: the first signs catalog documents. The same as the gateways'. */
  ROUTES_SIGNING_KEY: secretListSetting,
  /** Port of `/livez`, `/readyz` and `/metrics`, never public. */
  WORKER_ADMIN_PORT: portSetting.default(9091),
  /** Address to listen on. Default: every address, including IPv6 if the kernel supports it. */
  WORKER_HOST: hostSetting,
  /** Requests per minute of keys that have no limit, existing keys included. */
  DEFAULT_RPM: countSetting.default(600),
  /** Tokens per minute of keys that have no limit, existing keys included. */
  DEFAULT_TPM: countSetting.default(2_000_000),
  /** As the gateways'. */
  RENEW_EVERY_MS: spanMsSetting.default(5_000),
  /** As the gateways'. */
  LEASE_MS: spanMsSetting.default(20_000),
  /**
   * ClickHouse's HTTP interface, with user, password and database: requests are copied there. Without it nothing is archived.
   */
  CLICKHOUSE_URL: clickHouseUrlSetting.optional(),
  /**
   * Days that requests stay in Postgres after their partition has ended; at least 35. Then they are in ClickHouse only. Without it
   * Postgres keeps all of them.
   */
  REQUESTS_KEPT_DAYS: keptDaysSetting.optional(),
  /** `monthly` or `daily`: the partitions of requests in Postgres. Months that exist stay as they are, unless they are empty and begin later. */
  REQUESTS_PARTITIONS: z.enum(['monthly', 'daily']).default('monthly'),
  /** Time between two incremental audits of the ledger. */
  INVARIANTS_EVERY_MS: spanMsSetting.default(60_000),
  /** `smtp://user:password@host:587` or `smtps://…`. Without it emails wait. Set `MAIL_FROM` as well. */
  SMTP_URL: smtpUrlSetting.optional(),
  /** Sender of emails: `Name <address>`. */
  MAIL_FROM: senderSetting.optional(),
  /** Loopback and private ranges where webhooks of organizations may be, also without TLS. */
  NOTIFICATION_ALLOWED_CIDRS: allowedCidrsSetting,
  /** Token of the Telegram bot that sends alerts to chats of organizations. Without it there is none. */
  TELEGRAM_BOT_TOKEN: telegramTokenSetting.optional(),
  /** The Bot API, or a proxy of it. */
  TELEGRAM_API_URL: telegramUrlSetting,
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. */
  LOG_LEVEL: logLevelSetting,
})

/** Every setting, with its default. Secrets have none. */
export const envSchema = settingsSchema.superRefine((data, context) => {
  refuseHalfAShop(data, context)
  if (data.REQUESTS_KEPT_DAYS !== undefined && data.CLICKHOUSE_URL === undefined)
    context.addIssue({
      code: 'custom',
      path: ['REQUESTS_KEPT_DAYS'],
      message: 'must be unset without CLICKHOUSE_URL, because requests would be lost',
    })
  const { SMTP_URL, MAIL_FROM } = data
  if ((SMTP_URL === undefined) === (MAIL_FROM === undefined)) return
  context.addIssue({ code: 'custom', path: [SMTP_URL === undefined ? 'SMTP_URL' : 'MAIL_FROM'] })
})

/** The worker's settings; docs/operate/settings.md lists them. */
export type WorkerConfig = {
  readonly databaseUrl: string
  readonly redisUrls: RedisUrls
  /** The first key signs the catalog's documents. The gateways have the same keys. */
  readonly routesSigningKeys: KeyList<string>
  readonly adminPort: number
  readonly host: string
  /** Limits per minute of a key that does not set its own. */
  readonly defaults: { readonly rpm: number; readonly tpm: number }
  /** How often gateways renew their holds. A new epoch waits for one round. Same value as the gateway's. */
  readonly renewEveryMs: number
  /** How long a hold lives without a renewal. Same value as the gateway's. */
  readonly leaseMs: number
  /** ClickHouse with the archive of requests; `undefined`: there is none. */
  readonly clickHouseUrl: string | undefined
  /** Days that requests stay in Postgres after their partition has ended; `undefined`: permanently. */
  readonly requestsKeptDays: number | undefined
  /** Whether new partitions of requests are days instead of months. */
  readonly dailyPartitions: boolean
  /** Time between two checks of the money invariants. */
  readonly invariantsEveryMs: number
  /** The mail server and the sender. Without both, emails wait. */
  readonly mail: { readonly server: SmtpServer; readonly from: Sender } | undefined
  /** Private networks where webhooks of organizations may be. */
  readonly notificationAllowedCidrs: readonly string[]
  /** The Telegram bot; `undefined`: there is none. */
  readonly telegram: { readonly apiUrl: string; readonly token: string } | undefined
  /** The payment shop; `undefined`: payments are not configured. */
  readonly shop: ShopSettings | undefined
  /** When trials are granted, and their daily limit. */
  readonly trials: TrialRules
  readonly logLevel: string
}

/**
 * Reads the worker's settings once, at startup.
 * @throws BadEnvironment with the name of every invalid variable, without values.
 */
export function readConfig(env: NodeJS.ProcessEnv, warn?: Warn): WorkerConfig {
  const data = readEnvironment('the worker', envSchema, env, warn)
  const { SMTP_URL: server, MAIL_FROM: from, TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_URL: apiUrl } = data
  return {
    databaseUrl: data.DATABASE_URL,
    redisUrls: data.REDIS_URL,
    routesSigningKeys: data.ROUTES_SIGNING_KEY,
    adminPort: data.WORKER_ADMIN_PORT,
    host: data.WORKER_HOST,
    defaults: { rpm: data.DEFAULT_RPM, tpm: data.DEFAULT_TPM },
    renewEveryMs: data.RENEW_EVERY_MS,
    leaseMs: data.LEASE_MS,
    clickHouseUrl: data.CLICKHOUSE_URL,
    requestsKeptDays: data.REQUESTS_KEPT_DAYS,
    dailyPartitions: data.REQUESTS_PARTITIONS === 'daily',
    notificationAllowedCidrs: data.NOTIFICATION_ALLOWED_CIDRS,
    telegram: token === undefined ? undefined : { apiUrl, token },
    invariantsEveryMs: data.INVARIANTS_EVERY_MS,
    mail: server === undefined || from === undefined ? undefined : { server, from },
    shop: shopOf(data),
    trials: trialRulesOf(data),
    logLevel: data.LOG_LEVEL,
  }
}
