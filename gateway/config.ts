import { z } from 'zod'
import { allowedCidrsSetting } from '#core/catalog/address-setting'
import {
  cidrListSetting,
  hostSetting,
  httpUrlSetting,
  logLevelSetting,
  portSetting,
  readEnvironment,
  redisUrlsSetting,
  sealingKeyListSetting,
  secretListSetting,
  secretSetting,
  spanMsSetting,
} from '#core/process/environment'
import type { KeyList } from '#core/process/key-list'
import type { Warn } from '#core/process/start-or-exit'
import type { RedisUrls } from '#core/redis/open-redis'

const mebibyte = 1024 * 1024

/** Every setting of the gateway, with its default and where that comes from. Secrets have none. */
export const envSchema = z.object({
  /** Clients' port. 0: any free one. */
  GATEWAY_PORT: portSetting.default(8080),
  /** Port of `/livez`, `/readyz` and `/metrics`, never public. */
  GATEWAY_ADMIN_PORT: portSetting.default(9090),
  /** Address of both ports. Default: every address, including IPv6 if the kernel supports it. */
  GATEWAY_HOST: hostSetting,
  /** Proxies whose `X-Forwarded-For` is trusted. The right-most address outside these ranges is the client, which keys may be limited to. */
  TRUSTED_PROXY_CIDRS: cidrListSetting.prefault(''),
  /** Names this replica in `mg:gateways`. Default: a random id. */
  GATEWAY_INSTANCE: z.string().min(1).max(100).optional(),
  /** `redis://` or `rediss://`, as the user `model_gateway_gateway`. Several nodes of one cluster are separated by commas. */
  REDIS_URL: redisUrlsSetting,
  /** Longest wait for Redis to admit a request. Then 503, and nothing was charged. */
  REDIS_TIMEOUT_MS: spanMsSetting.default(100),
  /** Secret of at least 32 characters: key of the HMAC of API keys. The same in every process. It never changes. */
  KEY_PEPPER: secretSetting,
  /** Key list, 32 bytes in base64 each: any of them decrypts a provider's credential. */
  CREDENTIALS_KEY: sealingKeyListSetting,
  /** Key list, at least 32 characters each: any of them verifies a catalog document. */
  ROUTES_SIGNING_KEY: secretListSetting,
  /** Longest request body, in bytes. */
  GATEWAY_BODY_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(1024)
    .max(256 * mebibyte)
    .default(32 * mebibyte),
  /** Bodies in memory of all requests in progress; above it 503. One organization may use an eighth (429). Parsed content uses up to 2 GiB more. */
  GATEWAY_HELD_BODY_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(mebibyte)
    .default(512 * mebibyte),
  /** Connections of clients; less if the process may open fewer files (`http/connection-cap.ts`). A stream takes 30 KB. */
  GATEWAY_CONNECTIONS_MAX: z.coerce.number().int().positive().default(16_384),
  /** Time for a whole request to arrive: 32 MiB at 2 Mbit/s. */
  GATEWAY_REQUEST_TIMEOUT_MS: spanMsSetting.default(135_000),
  /** Time for its headers: slow clients occupy a connection for nothing. */
  GATEWAY_HEADERS_TIMEOUT_MS: spanMsSetting.default(10_000),
  /** Idle time of a client's connection: above the 60 s after which common load balancers close theirs. */
  GATEWAY_KEEP_ALIVE_MS: spanMsSetting.default(75_000),
  /** Loopback and private ranges that providers with `network.privateAddresses` may use. */
  UPSTREAM_ALLOWED_CIDRS: allowedCidrsSetting,
  /** Proxy for connections to providers, `http://user:password@host:3128`: it must allow `CONNECT`. Providers with `network.privateAddresses` and images that clients send as URLs do not use it. */
  UPSTREAM_PROXY_URL: httpUrlSetting.optional(),
  /** Time to reach a provider; a healthy one answers a connection in well under a second. */
  UPSTREAM_CONNECT_TIMEOUT_MS: spanMsSetting.default(5_000),
  /** How often requests in progress renew their holds; must equal the worker's. */
  RENEW_EVERY_MS: spanMsSetting.default(5_000),
  /** How long a hold lives without a renewal; must equal the worker's. */
  LEASE_MS: spanMsSetting.default(20_000),
  /** Charges buffered in memory until Postgres has them; when full, requests get 503. */
  BUFFERED_CHARGES_MAX: z.coerce.number().int().positive().default(500_000),
  /** The cabinet, which serves `/v1/requests/*`; without it these are 503. */
  CABINET_URL: httpUrlSetting.optional(),
  /** Public address of the cabinet, for `doc_url` in errors: where its documentation explains each code. */
  APP_URL: httpUrlSetting.optional(),
  /** For counting tokens if a provider gave no count; then they are estimated. The end of an answer waits for it. */
  TOKEN_COUNT_TIMEOUT_MS: spanMsSetting.default(2_000),
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Requests that need no working key are logged at `debug`. */
  LOG_LEVEL: logLevelSetting,
})

export type Config = {
  readonly port: number
  readonly adminPort: number
  readonly host: string
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly instance: string | undefined
  readonly redisUrls: RedisUrls
  readonly redisTimeoutMs: number
  readonly keyPepper: string
  readonly catalogKeys: {
    readonly signingKeys: KeyList<string>
    readonly sealingKeys: KeyList<Uint8Array>
  }
  readonly http: HttpLimits
  readonly upstreamAllowedCidrs: readonly string[]
  readonly upstreamProxyUrl: string | undefined
  readonly upstreamConnectMs: number
  readonly renewEveryMs: number
  readonly leaseMs: number
  readonly bufferedChargesMax: number
  readonly cabinetUrl: string | undefined
  /** Where users open the cabinet, without a slash at its end. */
  readonly publicCabinetUrl: string | undefined
  readonly tokenCountTimeoutMs: number
  readonly logLevel: string
}

/** Limits of what clients may take of the server. */
export type HttpLimits = {
  readonly bodyBytesMax: number
  /** This one is of all clients together. */
  readonly heldBodyBytesMax: number
  /** And so is this one. */
  readonly connectionsMax: number
  readonly requestTimeoutMs: number
  readonly headersTimeoutMs: number
  readonly keepAliveMs: number
}

/** Reads the gateway's settings, once, at start-up. @throws BadEnvironment naming every wrong variable, and no value. */
export function readConfig(env: NodeJS.ProcessEnv, warn?: Warn): Config {
  const settings = readEnvironment('the gateway', envSchema, env, warn)
  return {
    port: settings.GATEWAY_PORT,
    adminPort: settings.GATEWAY_ADMIN_PORT,
    host: settings.GATEWAY_HOST,
    trustedProxies: settings.TRUSTED_PROXY_CIDRS,
    instance: settings.GATEWAY_INSTANCE,
    redisUrls: settings.REDIS_URL,
    redisTimeoutMs: settings.REDIS_TIMEOUT_MS,
    keyPepper: settings.KEY_PEPPER,
    catalogKeys: { signingKeys: settings.ROUTES_SIGNING_KEY, sealingKeys: settings.CREDENTIALS_KEY },
    http: {
      bodyBytesMax: settings.GATEWAY_BODY_BYTES_MAX,
      heldBodyBytesMax: settings.GATEWAY_HELD_BODY_BYTES_MAX,
      connectionsMax: settings.GATEWAY_CONNECTIONS_MAX,
      requestTimeoutMs: settings.GATEWAY_REQUEST_TIMEOUT_MS,
      headersTimeoutMs: settings.GATEWAY_HEADERS_TIMEOUT_MS,
      keepAliveMs: settings.GATEWAY_KEEP_ALIVE_MS,
    },
    upstreamAllowedCidrs: settings.UPSTREAM_ALLOWED_CIDRS,
    upstreamProxyUrl: settings.UPSTREAM_PROXY_URL,
    upstreamConnectMs: settings.UPSTREAM_CONNECT_TIMEOUT_MS,
    renewEveryMs: settings.RENEW_EVERY_MS,
    leaseMs: settings.LEASE_MS,
    bufferedChargesMax: settings.BUFFERED_CHARGES_MAX,
    cabinetUrl: settings.CABINET_URL,
    publicCabinetUrl: settings.APP_URL?.replace(/\/+$/, ''),
    tokenCountTimeoutMs: settings.TOKEN_COUNT_TIMEOUT_MS,
    logLevel: settings.LOG_LEVEL,
  }
}
