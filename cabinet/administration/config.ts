import { z } from 'zod'
import { clickHouseUrlSetting } from '#core/archive/archive-setting'
import { allowedCidrsSetting } from '#core/catalog/address-setting'
import type { NanoRub } from '#core/ledger/money'
import {
  cidrListSetting,
  hostSetting,
  httpUrlSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  redisUrlsSetting,
  sealingKeyListSetting,
} from '#core/process/environment'
import type { KeyList } from '#core/process/key-list'
import type { Warn } from '#core/process/start-or-exit'
import type { RedisUrls } from '#core/redis/open-redis'
import { aloneMaxSetting } from '../approvals/approval-settings.ts'
import { refuseHalfAShop, type ShopSettings, shopOf, shopSettings } from '../payments/payment-settings.ts'

const settingsSchema = z.object({
  ...shopSettings,
  /** Postgres, as the role `model_gateway_administration`. */
  DATABASE_URL: postgresUrlSetting,
  /** Redis, as the user `model_gateway_cabinet`. Several nodes of one cluster are separated by commas. */
  REDIS_URL: redisUrlsSetting,
  /** ClickHouse, as the worker's: requests that left Postgres are read there. */
  CLICKHOUSE_URL: clickHouseUrlSetting.optional(),
  /** Key list, 32 bytes in base64 each: the first encrypts administrators' second factors. No other process has it. */
  ADMINISTRATION_SEALING_KEY: sealingKeyListSetting,
  /** Key list, 32 bytes in base64 each: the first encrypts the credentials of providers that are made here. */
  CREDENTIALS_KEY: sealingKeyListSetting,
  /** Same as the gateways': where providers that are made here may be. */
  UPSTREAM_ALLOWED_CIDRS: allowedCidrsSetting,
  /** Address at which administrators reach this process: the only origin whose pages may change data. */
  ADMINISTRATION_URL: httpUrlSetting,
  /** Proxies whose `X-Forwarded-For` is trusted. The right-most address outside these ranges is the caller. */
  TRUSTED_PROXY_CIDRS: cidrListSetting.prefault(''),
  /** What one administrator may adjust, refund and write off for one organization in 24 hours, in rubles; more needs another one. */
  ADMINISTRATION_ALONE_MAX_RUB: aloneMaxSetting,
  /** Administrators' port. */
  ADMINISTRATION_PORT: portSetting.default(3003),
  /** Port of `/livez`, `/readyz` and `/metrics`, never public. */
  ADMINISTRATION_ADMIN_PORT: portSetting.default(9094),
  /** Address to listen on. Default: every address, including IPv6 if the kernel supports it. */
  ADMINISTRATION_HOST: hostSetting,
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Requests without a session are logged at `debug`. */
  LOG_LEVEL: logLevelSetting,
})

/** Every setting, with its default. Secrets have none. */
export const envSchema = settingsSchema.superRefine(refuseHalfAShop)

/** The settings of the administration process; docs/operate/settings.md lists them. */
export type AdministrationConfig = {
  readonly databaseUrl: string
  readonly redisUrls: RedisUrls
  /** ClickHouse with requests that left Postgres; `undefined`: none has. */
  readonly clickHouseUrl: string | undefined
  /** 32 bytes each. The first key encrypts the secrets of administrators' second factors. */
  readonly sealingKeys: KeyList<Uint8Array>
  /** 32 bytes each. The first key encrypts providers' credentials. */
  readonly credentialKeys: KeyList<Uint8Array>
  /** Loopback and private ranges that providers may use. */
  readonly upstreamAllowedCidrs: readonly string[]
  /** Where administrators reach this process, without a trailing slash. */
  readonly ownUrl: string
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly port: number
  readonly adminPort: number
  readonly host: string
  /** The payment shop; `undefined`: payments are not configured. */
  readonly shop: ShopSettings | undefined
  /** What one administrator may move for one organization in 24 hours. */
  readonly aloneMax: NanoRub
  readonly logLevel: string
}

/**
 * Reads the settings once, at startup.
 * @throws BadEnvironment with the name of every invalid variable, without values.
 */
export function readConfig(env: NodeJS.ProcessEnv, warn?: Warn): AdministrationConfig {
  const data = readEnvironment('the administration process', envSchema, env, warn)
  return {
    databaseUrl: data.DATABASE_URL,
    redisUrls: data.REDIS_URL,
    clickHouseUrl: data.CLICKHOUSE_URL,
    sealingKeys: data.ADMINISTRATION_SEALING_KEY,
    credentialKeys: data.CREDENTIALS_KEY,
    upstreamAllowedCidrs: data.UPSTREAM_ALLOWED_CIDRS,
    ownUrl: data.ADMINISTRATION_URL.replace(/\/+$/, ''),
    trustedProxies: data.TRUSTED_PROXY_CIDRS,
    port: data.ADMINISTRATION_PORT,
    adminPort: data.ADMINISTRATION_ADMIN_PORT,
    host: data.ADMINISTRATION_HOST,
    shop: shopOf(data),
    aloneMax: data.ADMINISTRATION_ALONE_MAX_RUB,
    logLevel: data.LOG_LEVEL,
  }
}
