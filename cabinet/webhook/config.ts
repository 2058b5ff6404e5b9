import { z } from 'zod'
import {
  cidrListSetting,
  hostSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  secretListSetting,
} from '#core/process/environment'
import type { KeyList } from '#core/process/key-list'
import type { Warn } from '#core/process/start-or-exit'

/** YooKassa's published networks for notifications (2026-08-20). The chart configures them on the ingress, too. */
const publishedNetworks =
  '185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.156.11/32,77.75.156.35/32,77.75.154.128/25,2a02:5180::/32'

/** A rotation needs two. */
const secretsMax = 2

/** Every setting, with its default. Secrets have none. */
export const envSchema = z.object({
  /** Postgres, as the role `model_gateway_webhook`. */
  DATABASE_URL: postgresUrlSetting,
  /** The `secret` of the notification address; two, separated by a comma, during a rotation. */
  WEBHOOK_SECRET: secretListSetting.refine((all) => all.length <= secretsMax, 'must be one secret, or two'),
  /** Networks that may send notifications. Default: those that YooKassa publishes. */
  WEBHOOK_ALLOWED_CIDRS: cidrListSetting.prefault(publishedNetworks),
  /** Proxies whose `X-Forwarded-For` is trusted. */
  TRUSTED_PROXY_CIDRS: cidrListSetting.prefault(''),
  /** The payment provider's port. */
  WEBHOOK_PORT: portSetting.default(3001),
  /** Port of `/livez`, `/readyz` and `/metrics`, never public. */
  WEBHOOK_ADMIN_PORT: portSetting.default(9093),
  /** Address to listen on. Default: every address, including IPv6 if the kernel supports it. */
  WEBHOOK_HOST: hostSetting,
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. */
  LOG_LEVEL: logLevelSetting,
})

/** The settings of the receiver of notifications; docs/operate/settings.md lists them. */
export type WebhookConfig = {
  readonly databaseUrl: string
  /** Any of these secrets is accepted. There are two during a rotation. */
  readonly secrets: KeyList<string>
  /** Networks that may send notifications. */
  readonly allowed: readonly string[]
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly port: number
  readonly adminPort: number
  readonly host: string
  readonly logLevel: string
}

/**
 * Reads the settings once, at startup.
 * @throws BadEnvironment with the name of every invalid variable, without values.
 */
export function readConfig(env: NodeJS.ProcessEnv, warn?: Warn): WebhookConfig {
  const data = readEnvironment('the receiver of webhooks', envSchema, env, warn)
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
