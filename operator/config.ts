import { hostname } from 'node:os'
import { z } from 'zod'
import { allowedCidrsSetting } from '#core/catalog/address-setting'
import {
  BadEnvironment,
  hostSetting,
  httpUrlSetting,
  listSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  sealingKeyListSetting,
  secretSetting,
  spanMsSetting,
} from '#core/process/environment'
import type { KeyList } from '#core/process/key-list'
import type { Warn } from '#core/process/start-or-exit'
import type { LeaseTimes } from './runtime/leader-elector.ts'

const flag = z.stringbool({ error: 'must be true or false' })
const namespace = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be a valid namespace name')

/** `*`, or names separated by commas. */
const namespaceList = listSetting.pipe(
  z.union([z.tuple([z.literal('*')]).transform((): 'all' => 'all'), z.array(namespace).min(1)], {
    error: 'must be namespace names separated by commas, or *',
  }),
)

/** Every setting of the operator, with its default and the source of that. Secrets have none. */
export const envSchema = z.object({
  /** Path of a kubeconfig. Default: the service account of the pod. */
  KUBECONFIG: z.string().optional(),
  /** Namespace of the release: of the Lease, the mirrors, and by default the only one whose routes are used. */
  OPERATOR_NAMESPACE: namespace,
  /** Namespaces whose ApiKeys are managed, in addition to the release's own; `*`: all. */
  OPERATOR_NAMESPACES: namespaceList.default('all'),
  /** Namespaces whose routes and providers are used. Default: the release's. */
  OPERATOR_ROUTES_NAMESPACES: namespaceList.optional(),
  /** Identifies the cluster if several share a database. Default: the uid of `kube-system`. */
  OPERATOR_CLUSTER_ID: z.string().min(1).max(100).optional(),
  /** Names this process in the Lease and in Events. The default is the name of the pod. */
  OPERATOR_INSTANCE: z.string().min(1).max(100).default(hostname()),
  /** Name of the Lease. */
  OPERATOR_LEASE_NAME: z.string().min(1).max(63).default('model-gateway-operator'),
  /** Length of the Lease: how long a standby waits for a leader that was killed. Each of these three must be well below the one before. */
  OPERATOR_LEASE_MS: spanMsSetting.default(4_000),
  /** How long a leader tries to renew the Lease. It then ends, and a standby leads once the API server responds. */
  OPERATOR_RENEW_DEADLINE_MS: spanMsSetting.default(3_000),
  /** Time between two attempts to get or renew the Lease. */
  OPERATOR_RETRY_MS: spanMsSetting.default(400),
  /** Whether routes of the cabinet are mirrored in the cluster. */
  OPERATOR_MIRROR_ROUTES: flag.default(true),
  /** Whether keys of the cabinet are mirrored in the cluster. */
  OPERATOR_MIRROR_KEYS: flag.default(true),
  /** Most keys to mirror. The limit keeps etcd small. */
  OPERATOR_MIRROR_KEYS_MAX: z.coerce.number().int().min(0).default(5_000),
  /** Time between two checks of everything, after which unnoticed drift is found. */
  OPERATOR_RESYNC_MS: spanMsSetting.default(600_000),
  /** How long an ApiKey that is being deleted stays until every gateway rejects its key. */
  OPERATOR_REVOCATION_WAIT_MS: spanMsSetting.default(600_000),
  /**
   * Time between two checks of a Secret: a lost API key is replaced within 2 s, a rotated credential is live as soon. At most
   * 100 are checked a second, by namespaces in turn.
   */
  OPERATOR_SECRET_POLL_MS: spanMsSetting.default(1_500),
  /** Base URL for clients, written into the Secrets of keys; ends with `/v1`. */
  GATEWAY_BASE_URL: httpUrlSetting.refine((url) => /^[^?#]+\/v1$/.test(url), {
    error: 'must end with /v1, such as https://gateway.example/v1: clients add /chat/completions to it',
  }),
  /** Postgres, as the role `model_gateway_operator`. */
  DATABASE_URL: postgresUrlSetting,
  /** Key of the HMAC of API keys; the same in every process. It never changes. */
  KEY_PEPPER: secretSetting,
  /** Key list, 32 bytes in base64 each: the first encrypts providers' credentials. */
  CREDENTIALS_KEY: sealingKeyListSetting,
  /** Same as the gateways'. */
  UPSTREAM_ALLOWED_CIDRS: allowedCidrsSetting,
  /** Port of `/livez` and `/readyz`. */
  OPERATOR_PROBES_PORT: portSetting.default(8081),
  /** Port of `/metrics`. */
  OPERATOR_METRICS_PORT: portSetting.default(8080),
  /** Address to listen on. Default: every address, including IPv6 if the kernel supports it. */
  OPERATOR_HOST: hostSetting,
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. */
  LOG_LEVEL: logLevelSetting,
})

type Namespaces = 'all' | readonly string[]

export type OperatorConfig = {
  /** `undefined`: the service account of the pod. */
  readonly kubeconfigPath: string | undefined
  readonly namespace: string
  readonly namespaces: Namespaces
  readonly routesNamespaces: Namespaces
  /** `undefined`: the uid of `kube-system`. */
  readonly clusterId: string | undefined
  readonly instance: string
  readonly leaseName: string
  readonly leaseTimes: LeaseTimes
  readonly mirror: { readonly routes: boolean; readonly keys: boolean; readonly keysMax: number }
  readonly resyncMs: number
  readonly revocationWaitMs: number
  readonly secretPollMs: number
  readonly gatewayBaseUrl: string
  readonly databaseUrl: string
  readonly keyPepper: string
  readonly sealingKeys: KeyList<Uint8Array>
  readonly upstreamAllowedCidrs: readonly string[]
  readonly probesPort: number
  readonly metricsPort: number
  readonly host: string
  readonly logLevel: string
}

/** Reads the operator's settings once, at start-up. @throws BadEnvironment naming every wrong variable, but no values. */
export function readConfig(env: NodeJS.ProcessEnv, warn?: Warn): OperatorConfig {
  const data = readEnvironment('the operator', envSchema, env, warn)
  const leaseTimes = {
    lengthMs: data.OPERATOR_LEASE_MS,
    renewDeadlineMs: data.OPERATOR_RENEW_DEADLINE_MS,
    retryMs: data.OPERATOR_RETRY_MS,
  }
  requireOrder(leaseTimes)
  return {
    kubeconfigPath: data.KUBECONFIG,
    namespace: data.OPERATOR_NAMESPACE,
    namespaces: data.OPERATOR_NAMESPACES,
    routesNamespaces: data.OPERATOR_ROUTES_NAMESPACES ?? [data.OPERATOR_NAMESPACE],
    clusterId: data.OPERATOR_CLUSTER_ID,
    instance: data.OPERATOR_INSTANCE,
    leaseName: data.OPERATOR_LEASE_NAME,
    leaseTimes,
    mirror: {
      routes: data.OPERATOR_MIRROR_ROUTES,
      keys: data.OPERATOR_MIRROR_KEYS,
      keysMax: data.OPERATOR_MIRROR_KEYS_MAX,
    },
    resyncMs: data.OPERATOR_RESYNC_MS,
    revocationWaitMs: data.OPERATOR_REVOCATION_WAIT_MS,
    secretPollMs: data.OPERATOR_SECRET_POLL_MS,
    gatewayBaseUrl: data.GATEWAY_BASE_URL,
    databaseUrl: data.DATABASE_URL,
    keyPepper: data.KEY_PEPPER,
    sealingKeys: data.CREDENTIALS_KEY,
    upstreamAllowedCidrs: data.UPSTREAM_ALLOWED_CIDRS,
    probesPort: data.OPERATOR_PROBES_PORT,
    metricsPort: data.OPERATOR_METRICS_PORT,
    host: data.OPERATOR_HOST,
    logLevel: data.LOG_LEVEL,
  }
}

/**
 * If a standby waited no longer than a leader goes on, both would write; a leader that renews too seldom loses its
 * Lease.
 */
function requireOrder({ lengthMs, renewDeadlineMs, retryMs }: LeaseTimes): void {
  const problems = [
    ...(renewDeadlineMs < lengthMs
      ? []
      : ['OPERATOR_RENEW_DEADLINE_MS: must be less than OPERATOR_LEASE_MS']),
    ...(retryMs <= renewDeadlineMs / 2
      ? []
      : ['OPERATOR_RETRY_MS: must be at most half of OPERATOR_RENEW_DEADLINE_MS']),
  ]
  if (problems.length > 0) throw new BadEnvironment('the operator', problems)
}

/**
 * Where objects are read. Mirrors are in the release's namespace. In namespaces where ApiKeys are managed, a
 * route that is not used gets a status that explains it.
 */
export function watchedNamespaces({
  namespace,
  namespaces,
  routesNamespaces,
}: Pick<OperatorConfig, 'namespace' | 'namespaces' | 'routesNamespaces'>): {
  readonly apiKeys: Namespaces
  readonly routesAndProviders: Namespaces
} {
  const ofKeys = together(namespaces, [namespace])
  return { apiKeys: ofKeys, routesAndProviders: together(ofKeys, routesNamespaces) }
}

function together(some: Namespaces, others: Namespaces): Namespaces {
  return some === 'all' || others === 'all' ? 'all' : [...new Set([...some, ...others])]
}
