import { orUnavailable, PostgresUnavailable } from '#core/db/availability'
import { createPool } from '#core/db/pool'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { CannotStart } from '#core/process/start-or-exit'
import { type ClusterClient, createClusterClient } from '../runtime/cluster-client.ts'
import { readClusterId } from '../runtime/cluster-id.ts'
import { textOf } from '../runtime/error-text.ts'
import { loadKubeConfig } from '../runtime/load-kube-config.ts'
import { type ReleaseConfig, readReleaseConfig } from './config.ts'
import { type LiveKey, readLiveKeys } from './internal/live-keys.ts'
import { findLeader, takeOver } from './internal/operator-lease.ts'
import { releaseAll } from './internal/release.ts'
import { reportOf } from './internal/report.ts'
import { markStatuses } from './internal/unwatched-statuses.ts'

/**
 * `npm run release-finalizers -- [--take-over] [NAMESPACE...]`: removes the operator's finalizer from
 * ApiKeys, which otherwise cannot be deleted without an operator, and reports which keys still work. Exits
 * with 1 if an operator runs, or if a finalizer could not be removed.
 */
ignoreInspectorSignal()
const config = readReleaseConfig(process.env, process.argv.slice(2))
if ('wrong' in config) {
  process.stderr.write(`${config.wrong}\n`)
  process.exitCode = 2
} else {
  await run(config).catch((error: unknown) =>
    fail(error instanceof CannotStart ? error.message : textOf(error)),
  )
}

async function run(asked: ReleaseConfig): Promise<void> {
  const client = createClusterClient(loadKubeConfig(asked.kubeconfigPath))
  await releaseBy(client, asked).finally(client.close)
}

async function releaseBy(client: ClusterClient, asked: ReleaseConfig): Promise<void> {
  const { lease, namespaces } = asked
  const leader = asked.takesOver ? await takeOver(client, lease) : await findLeader(client, lease)
  if (leader !== undefined)
    return fail(
      `Nothing was done: operator ${leader} runs and would put the finalizers back. Delete the ApiKeys, and it revokes their keys; or stop it first.`,
    )
  const clusterId = asked.clusterId ?? (await readClusterId(client))
  const releases = await releaseAll(client, namespaces)
  process.stdout.write(reportOf(releases, await findLiveKeys(asked, clusterId)))
  const left = await markStatuses(client, namespaces).catch((error: unknown) => ({
    leftCount: 'Some',
    why: textOf(error),
  }))
  if (left !== undefined)
    process.stdout.write(
      `${left.leftCount} objects keep a status that nothing updates any longer: ${left.why}\n`,
    )
  if (releases.some(({ failure }) => failure !== undefined)) process.exitCode = 1
}

/** The keys that may still be used, or a sentence that explains why they are unknown. */
async function findLiveKeys(
  { databaseUrl, namespaces }: ReleaseConfig,
  clusterId: string,
): Promise<readonly LiveKey[] | string> {
  if (databaseUrl === undefined) return 'DATABASE_URL is not set, so which keys are revoked is unknown'
  const pool = createPool({ databaseUrl, applicationName: 'model-gateway-release-finalizers' })
  try {
    return await orUnavailable(readLiveKeys(pool, clusterId, namespaces))
  } catch (error) {
    // The finalizers are removed either way: an uninstallation continues without this result.
    const what =
      error instanceof PostgresUnavailable ? 'cannot be reached' : `rejects the query (${textOf(error)})`
    return `The database ${what}, so which keys are revoked is unknown`
  } finally {
    await pool.end()
  }
}

function fail(why: string): void {
  process.stderr.write(`${why}\n`)
  process.exitCode = 1
}
