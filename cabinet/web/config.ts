import { z } from 'zod'
import { clickHouseUrlSetting } from '#core/archive/archive-setting'
import type { NanoRub } from '#core/ledger/money'
import { type TrialRules, trialRulesOf, trialSettings } from '#core/ledger/trial-settings'
import {
  cidrListSetting,
  countSetting,
  hostSetting,
  httpUrlSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  redisUrlsSetting,
  sealingKeyListSetting,
  secretSetting,
} from '#core/process/environment'
import type { KeyList } from '#core/process/key-list'
import type { Warn } from '#core/process/start-or-exit'
import type { RedisUrls } from '#core/redis/open-redis'
import {
  type ShopTerms,
  shopTermsOf,
  shopTermsSettings,
  topUpMaxSetting,
} from '../payments/payment-settings.ts'

/** Every setting, with its default. Secrets have none. */
export const envSchema = z.object({
  ...shopTermsSettings,
  /** Largest top-up, in whole rubles; at least 100. */
  TOP_UP_MAX_RUB: topUpMaxSetting,
  ...trialSettings,
  /** Postgres, as the role `model_gateway_cabinet`. */
  DATABASE_URL: postgresUrlSetting,
  /** Redis, as the user `model_gateway_cabinet`. Several nodes of one cluster are separated by commas. */
  REDIS_URL: redisUrlsSetting,
  /** The same as the gateways'. It never changes. */
  KEY_PEPPER: secretSetting,
  /** Key list, 32 bytes in base64 each: the first encrypts secrets of second factors. */
  CABINET_SEALING_KEY: sealingKeyListSetting,
  /** ClickHouse, as the worker's: requests that left Postgres are read there. */
  CLICKHOUSE_URL: clickHouseUrlSetting.optional(),
  /** Public address of the cabinet: in links of emails, and the only origin whose pages may change data. */
  APP_URL: httpUrlSetting,
  /** Address that SDK clients call, ending with `/v1`; shown to users. */
  GATEWAY_BASE_URL: httpUrlSetting,
  /** Proxies whose `X-Forwarded-For` is trusted. The right-most address outside these ranges is the caller. */
  TRUSTED_PROXY_CIDRS: cidrListSetting.prefault(''),
  /** Clients' port. */
  CABINET_PORT: portSetting.default(3000),
  /** Port of `/livez`, `/readyz` and `/metrics`, never public. */
  CABINET_ADMIN_PORT: portSetting.default(9092),
  /** Address to listen on. Default: every address, including IPv6 if the kernel supports it. */
  CABINET_HOST: hostSetting,
  /** Receipts that one key may read per minute, from one replica. */
  CABINET_RECEIPTS_PER_MINUTE: countSetting.default(60),
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Requests without a genuine key or a session are logged at `debug`. */
  LOG_LEVEL: logLevelSetting,
})

/** The settings of the cabinet's web process; docs/operate/settings.md lists them. */
export type WebConfig = {
  readonly databaseUrl: string
  readonly redisUrls: RedisUrls
  /** ClickHouse with requests that left Postgres; `undefined`: none has. */
  readonly clickHouseUrl: string | undefined
  /** HMAC key for API keys, the same in every process. */
  readonly keyPepper: string
  /** 32 bytes each. The first key encrypts data that only the cabinet decrypts, such as second-factor secrets. */
  readonly sealingKeys: KeyList<Uint8Array>
  /** The URL of the cabinet for users, without a trailing slash. */
  readonly appUrl: string
  /** The base URL for SDK clients. Ends with `/v1`. */
  readonly gatewayBaseUrl: string
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly port: number
  readonly adminPort: number
  readonly host: string
  /** Receipts that one key may read per minute and replica. */
  readonly receiptsPerMinute: number
  /** The payment shop; `undefined`: payments are not configured. */
  readonly shop: ShopTerms | undefined
  /** Largest amount of one payment. */
  readonly topUpMax: NanoRub
  /** When trials are granted, and their daily limit. */
  readonly trials: TrialRules
  readonly logLevel: string
}

/**
 * Reads the settings once, at startup.
 * @throws BadEnvironment with the name of every invalid variable, without values.
 */
export function readConfig(env: NodeJS.ProcessEnv, warn?: Warn): WebConfig {
  const data = readEnvironment("the cabinet's web process", envSchema, env, warn)
  return {
    databaseUrl: data.DATABASE_URL,
    redisUrls: data.REDIS_URL,
    clickHouseUrl: data.CLICKHOUSE_URL,
    keyPepper: data.KEY_PEPPER,
    sealingKeys: data.CABINET_SEALING_KEY,
    appUrl: data.APP_URL.replace(/\/+$/, ''),
    gatewayBaseUrl: data.GATEWAY_BASE_URL.replace(/\/+$/, ''),
    trustedProxies: data.TRUSTED_PROXY_CIDRS,
    port: data.CABINET_PORT,
    adminPort: data.CABINET_ADMIN_PORT,
    host: data.CABINET_HOST,
    receiptsPerMinute: data.CABINET_RECEIPTS_PER_MINUTE,
    shop: shopTermsOf(data),
    topUpMax: data.TOP_UP_MAX_RUB,
    trials: trialRulesOf(data),
    logLevel: data.LOG_LEVEL,
  }
}
