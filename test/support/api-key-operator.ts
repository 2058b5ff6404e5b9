import { randomBytes } from 'node:crypto'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Pool } from 'pg'
import { type Fence, takeEpoch } from '#core/audit/cluster-epoch'
import { listenForHints } from '#core/db/change-hints'
import { createPool } from '#core/db/pool'
import { createKeyController } from '#operator/api-keys/key-controller'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { type Controller, createControlLoop } from '#operator/runtime/control-loop'
import { createEventRecorder } from '#operator/runtime/event-recorder'
import { createReflector, type Reflector } from '#operator/runtime/reflector'
import { apiKeyQuotas, apiKeys, namespaces, type Resource } from '#operator/runtime/resources'
import type { WorkQueueObserver } from '#operator/runtime/work-queue'
import { pepper } from './customer.ts'
import { asOperator, gatewayBaseUrl } from './operator.ts'

/** The part of an operator that looks after ApiKeys, in this process. */
export type KeyOperator = {
  /** Looks that have begun at an ApiKey, by its key in the queue: `namespace/name`. */
  looksAt(key: string): number
  /** What went wrong, most of it because a test broke something. */
  readonly errors: readonly unknown[]
  /** As SIGKILL would: its connections break, and nothing more is done. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export type KeyOperatorOptions = {
  readonly kubeConfig: KubeConfig
  readonly databaseUrl: string
  readonly clusterId: string
  readonly releaseNamespace?: string
  readonly longOutageMs?: number
}

/** As the settings have them by default. */
const times = { revocationWaitMs: 600_000, secretPollMs: 1_500 } as const

/** Starts it as the next leader, with the permissions that it has in an installation. */
export async function startKeyOperator(options: KeyOperatorOptions): Promise<KeyOperator> {
  const { kubeConfig, clusterId, releaseNamespace = 'model-gateway' } = options
  const instance = `operator-${randomBytes(4).toString('hex')}`
  const databaseUrl = asOperator(options.databaseUrl)
  const errors: unknown[] = []
  const looks: string[] = []
  const onError = (error: unknown) => void errors.push(error)
  const client = createClusterClient(kubeConfig)
  const pool = createPool({ databaseUrl, applicationName: instance })
  const fence: Fence = { clusterId, epoch: await takeEpoch(pool, clusterId, instance) }
  const reflect = (resource: Resource, onChange: (key: string) => void) =>
    createReflector({ client, namespaces: 'all', onError, resource, onChange })
  const objects = reflect(apiKeys, (key) => controller.objectChanged(key))
  const spaces = reflect(namespaces, (key) => controller.namespaceChanged(key))
  const quotas = reflect(apiKeyQuotas, (key) => controller.quotaChanged(key))
  const recorder = createEventRecorder(client, { instance, onError })
  const controller = createKeyController({
    client,
    pool,
    fence: () => fence,
    clusterId,
    releaseNamespace,
    ...times,
    ...(options.longOutageMs === undefined ? {} : { longOutageMs: options.longOutageMs }),
    keyPepper: pepper,
    baseUrl: gatewayBaseUrl,
    apiKeys: objects,
    namespaces: spaces,
    apiKeyQuotas: quotas,
    recorder,
    enqueue: (key) => loop.add(controller.name, key),
    onError,
    onDeletionNews: onError,
  })
  const loop = createControlLoop({
    controllers: [noting(controller, looks)],
    resyncMs: 600_000,
    onError: (_controller, _key, error) => onError(error),
    observerOf: () => unobserved,
  })
  const reflectors = [quotas, objects, spaces]
  await startReflectors(reflectors)
  loop.start()
  controller.start()
  const hints = listenForHints({
    databaseUrl,
    applicationName: instance,
    listenTo: ['changed', 'programmed'],
    onHint: controller.hinted,
  })
  const stop = async () => {
    await Promise.all([...reflectors, hints].map((each) => each.stop()))
    await loop.drain()
    await controller.stop()
    await recorder.flush()
    await client.close()
    await pool.end()
  }
  return {
    looksAt: (key) => looks.filter((looked) => looked === key).length,
    errors,
    async kill() {
      await Promise.all([client.close(), endOtherSessions(pool, instance).catch(() => undefined)])
      await stop()
    },
    stop,
  }
}

/** The controller, noting what it looks at. */
function noting<C extends Controller>(controller: C, looks: string[]): C {
  return {
    ...controller,
    reconcile(key) {
      looks.push(key)
      return controller.reconcile(key)
    },
  }
}

async function startReflectors(reflectors: readonly Reflector[]): Promise<void> {
  for (const reflector of reflectors) reflector.start()
  await Promise.all(reflectors.map(({ synced }) => synced))
}

function endOtherSessions(pool: Pool, applicationName: string): Promise<unknown> {
  return pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid()',
    [applicationName],
  )
}

const unobserved: WorkQueueObserver = {
  added: () => undefined,
  retried: () => undefined,
  started: () => undefined,
  ended: () => undefined,
}
