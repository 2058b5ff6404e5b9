import { z } from 'zod'
import {
  cidrListSetting,
  hostSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  secretListSetting,
} from '../process/environment.ts'
import type { KeyList } from '../process/key-list.ts'

/** Where YooKassa sends notifications from, as its documents list it (2026-08-20). The chart tells it the edge, too. */
const publishedNetworks =
  '185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.156.11/32,77.75.156.35/32,77.75.154.128/25,2a02:5180::/32'

/** More than two are no rotation. */
const secretsMax = 2

const envSchema = z.object({
  DATABASE_URL: postgresUrlSetting,
  WEBHOOK_SECRET: secretListSetting.refine((all) => all.length <= secretsMax, 'must be one secret, or two'),
  WEBHOOK_ALLOWED_CIDRS: cidrListSetting.prefault(publishedNetworks),
  TRUSTED_PROXY_CIDRS: cidrListSetting.prefault(''),
  WEBHOOK_PORT: portSetting.default(3001),
  WEBHOOK_ADMIN_PORT: portSetting.default(9093),
  WEBHOOK_HOST: hostSetting,
  LOG_LEVEL: logLevelSetting,
})

/** The settings of the receiver of notifications; the README of this folder has the table. */
export type WebhookConfig = {
  readonly databaseUrl: string
  /** Each opens it; two while one is rotated. */
  readonly secrets: KeyList<string>
  /** Where notifications may come from. */
  readonly allowed: readonly string[]
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  readonly port: number
  readonly adminPort: number
  readonly host: string
  readonly logLevel: string
}

/** Reads the settings, once, at start-up. @throws BadEnvironment naming every wrong variable, and no value. */
export function readConfig(env: NodeJS.ProcessEnv): WebhookConfig {
  const data = readEnvironment('the receiver of webhooks', envSchema, env)
  return {
    databaseUrl: data.DATABASE_URL,
    secrets: data.WEBHOOK_SECRET,
    allowed: data.WEBHOOK_ALLOWED_CIDRS,
    trustedProxies: data.TRUSTED_PROXY_CIDRS,
    port: data.WEBHOOK_PORT,
    adminPort: data.WEBHOOK_ADMIN_PORT,
    host: data.WEBHOOK_HOST,
    logLevel: data.LOG_LEVEL,
  }
}
