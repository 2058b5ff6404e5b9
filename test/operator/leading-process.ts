import { createInterface } from 'node:readline'
import { KubeConfig } from '@kubernetes/client-node'
import { Superseded, takeEpoch } from '#core/audit/cluster-epoch'
import { inScope } from '#core/audit/scope'
import { createPool } from '#core/db/pool'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { createLeaderElector } from '#operator/runtime/leader-elector'
import { leadingClient, NotLeading } from '#operator/runtime/leading-client'
import { secrets } from '#operator/runtime/resources'

/**
 * A process that only leads: it takes an epoch when it is elected and writes without a pause from then on. It
 * never checks whether it still leads, like a process that was frozen in the middle of a reconcile. If it
 * continues after the Lease is lost, it ends only when Postgres fences it off. Before it ends, it tries to create a Secret
 * with the name of its identity.
 *
 * It prints `started`, `elected`, `unanswered`, `lost`, `fenced` and `refused`; a line of input blocks its event loop
 * for so many ms.
 */
const options: {
  readonly kubeconfig: string
  readonly databaseUrl: string
  readonly lease: string
  readonly identity: string
  readonly whenLost: 'end' | 'goOn'
  readonly times: { readonly lengthMs: number; readonly renewDeadlineMs: number; readonly retryMs: number }
} = JSON.parse(process.argv[2] ?? '')

const say = (word: string) => process.stdout.write(`${word}\n`)
const kubeConfig = new KubeConfig()
kubeConfig.loadFromString(options.kubeconfig)
const pool = createPool({ databaseUrl: options.databaseUrl, applicationName: options.identity })

async function lead(): Promise<void> {
  const epoch = await takeEpoch(pool, options.lease, options.identity)
  const row = [options.lease, epoch, options.identity]
  const scope = {
    actor: { kind: 'job', name: options.identity },
    organizationId: null,
    fence: { clusterId: options.lease, epoch },
  } as const
  for (;;)
    try {
      await inScope(pool, scope, (client) =>
        client.withoutAudit(
          'part of the test',
          'insert into leader_writes (lease, epoch, holder) values ($1, $2, $3)',
          row,
        ),
      )
    } catch (error) {
      if (error instanceof Superseded) return
    }
}

const elector = createLeaderElector(kubeConfig, {
  lease: { namespace: 'default', name: options.lease },
  identity: options.identity,
  times: options.times,
  onError: () => say('unanswered'),
  onElected() {
    say('elected')
    void lead().then(async () => {
      say('fenced')
      await client
        .create(secrets, { metadata: { namespace: 'default', name: options.identity } })
        .catch((error) => {
          if (error instanceof NotLeading) say('refused')
        })
      process.exit(1)
    })
  },
  onLost() {
    say('lost')
    if (options.whenLost === 'end') process.exit(1)
  },
})
const client = leadingClient(createClusterClient(kubeConfig), elector.isLeader)
elector.start()
say('started')

createInterface(process.stdin).on('line', (line) => {
  const untilMs = performance.now() + Number(line)
  while (performance.now() < untilMs);
})
process.once('SIGTERM', async () => {
  await elector.release()
  process.exit(0)
})
