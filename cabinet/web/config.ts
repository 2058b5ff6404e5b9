import { z } from 'zod'
import type { NanoRub } from '../ledger/money.ts'
import {
  refuseHalfAShop,
  type ShopSettings,
  shopOf,
  shopSettings,
  topUpMaxSetting,
} from '../payments/settings.ts'
import {
  cidrListSetting,
  countSetting,
  hostSetting,
  httpUrlSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  redisUrlSetting,
  sealingKeyListSetting,
  secretSetting,
} from '../process/environment.ts'
import type { KeyList } from '../process/key-list.ts'

const settingsSchema = z.object({
  ...shopSettings,
  TOP_UP_MAX_RUB: topUpMaxSetting,
  DATABASE_URL: postgresUrlSetting,
  REDIS_URL: redisUrlSetting,
  KEY_PEPPER: secretSetting,
  CABINET_SEALING_KEY: sealingKeyListSetting,
  APP_URL: httpUrlSetting,
  GATEWAY_BASE_URL: httpUrlSetting,
  TRUSTED_PROXY_CIDRS: cidrListSetting.prefault(''),
  CABINET_PORT: portSetting.default(3000),
  CABINET_ADMIN_PORT: portSetting.default(9092),
  CABINET_HOST: hostSetting,
  CABINET_RECEIPTS_PER_MINUTE: countSetting.default(60),
  LOG_LEVEL: logLevelSetting,
})

const envSchema = settingsSchema.superRefine(refuseHalfAShop)

/** The settings of the cabinet's web process; the README of this folder has the table. */
export type WebConfig = {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** Key of the HMAC that stands for API keys; the same in every process. */
  readonly keyPepper: string
  /** 32 bytes each: the first seals what only the cabinet opens again, such as secrets of second factors. */
  readonly sealingKeys: KeyList<Uint8Array>
  /** Where people open the cabinet, without a slash at its end. */
  readonly appUrl: string
  /** What SDK clients call; ends with `/v1`. */
  readonly gatewayBaseUrl: string
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  readonly port: number
  readonly adminPort: number
  readonly host: string
  /** Receipts that one key may read in a minute, from one replica. */
  readonly receiptsPerMinute: number
  /** Where people pay; `undefined`: nobody can. */
  readonly shop: ShopSettings | undefined
  /** Largest amount of one payment. */
  readonly topUpMax: NanoRub
  readonly logLevel: string
}

/** Reads the settings, once, at start-up. @throws BadEnvironment naming every wrong variable, and no value. */
export function readConfig(env: NodeJS.ProcessEnv): WebConfig {
  const data = readEnvironment("the cabinet's web process", envSchema, env)
  return {
    databaseUrl: data.DATABASE_URL,
    redisUrl: data.REDIS_URL,
    keyPepper: data.KEY_PEPPER,
    sealingKeys: data.CABINET_SEALING_KEY,
    appUrl: data.APP_URL.replace(/\/+$/, ''),
    gatewayBaseUrl: data.GATEWAY_BASE_URL.replace(/\/+$/, ''),
    trustedProxies: data.TRUSTED_PROXY_CIDRS,
    port: data.CABINET_PORT,
    adminPort: data.CABINET_ADMIN_PORT,
    host: data.CABINET_HOST,
    receiptsPerMinute: data.CABINET_RECEIPTS_PER_MINUTE,
    shop: shopOf(data),
    topUpMax: data.TOP_UP_MAX_RUB,
    logLevel: data.LOG_LEVEL,
  }
}
