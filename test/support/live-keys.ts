import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { afterAll, expect, vi } from 'vitest'
import type { ClusterObject } from '#operator/runtime/cluster-object'
import { secrets } from '#operator/runtime/resources'
import { keyClusterOfThisFile, ownKeyClusterOfThisFile } from './api-key-cluster.ts'
import { startKeyOperator } from './api-key-operator.ts'
import { deployed } from './cluster.ts'
import { patient } from './patient-gateway.ts'

/** A cluster whose ApiKeys an operator looks after, a gateway that answers to them, and a team that may make them. */
export async function liveKeysOfThisFile({
  deploy,
  controllers = 'none',
  keysMay,
}: {
  readonly deploy?: 'installed'
  /** With `deploy`: whether a controller manager ends namespaces and aggregates roles. */
  readonly controllers?: 'none' | 'running'
  /** What ApiKeys of the team may beyond the usual. */
  readonly keysMay?: string
} = {}) {
  const { cluster, stack, client, createTeam, gatewayStatus } = await (deploy === undefined
    ? keyClusterOfThisFile()
    : ownKeyClusterOfThisFile({ deploy, controllers }))
  const { pool } = stack.database
  const clusterId = randomUUID()
  const [gateway, worker] = await Promise.all([stack.startGateway(patient), stack.startWorker()])
  // Where its permissions are installed, it has no others.
  const { kubeConfig } = deploy === 'installed' ? await cluster.addUser(deployed.operator) : cluster
  const start = () => startKeyOperator({ kubeConfig, databaseUrl: stack.database.url, clusterId })
  let running = await start()
  afterAll(() => running.stop())
  const team = await createTeam(keysMay)
  const { key } = await stack.createCustomer()
  await vi.waitFor(async () => expect(await gatewayStatus(gateway, key)).toBe(200), { timeout: 20_000 })

  async function putValue(name: string, value: string): Promise<void> {
    const data = { OPENAI_API_KEY: Buffer.from(value).toString('base64') }
    expect(await client.patch(secrets, await secretOf(team, name), { data })).toMatchObject({ data })
  }

  const untilStatus = (text: string, status: number) =>
    vi.waitFor(async () => expect(await gatewayStatus(gateway, text)).toBe(status), {
      timeout: 10_000,
      interval: 10,
    })
  const untilEvent = (name: string, reason: string) =>
    vi.waitFor(async () => expect(await team.events(name)).toContain(reason), {
      timeout: 10_000,
      interval: 100,
    })
  /** Organizations are not watched: a change of the object brings a look at once. */
  let touches = 0
  const touch = (name: string, spec: object = {}) =>
    team.apply(name, { ...spec, displayName: `touch ${++touches}` })

  return {
    cluster,
    client,
    stack,
    pool,
    gateway,
    /** The process that sends changes to the gateways. */
    worker,
    operator: () => running,
    /** The next leader, after the present one was killed. */
    async startOperator() {
      running = await start()
    },
    team,
    createTeam,
    gatewayStatus,
    createReady: (spec?: object) => createReady(team, spec),
    secretOf: (name: string) => secretOf(team, name),
    putValue,
    keyRowCount: (keyName: string) => countKeyRows(pool, keyName),
    untilStatus,
    untilEvent,
    touch,
  }
}

type Team = Awaited<ReturnType<Awaited<ReturnType<typeof keyClusterOfThisFile>>['createTeam']>>

async function createReady(team: Team, spec: object = {}) {
  const name = freshName()
  await team.apply(name, spec)
  const values = await team.readyValues(name)
  const text = values.OPENAI_API_KEY ?? ''
  const object = await team.find(name)
  return { name, text, values, keyId: statusOf(object).keyID ?? '' }
}

async function secretOf(team: Team, name: string): Promise<ClusterObject> {
  const secret = await team.secret(`${name}-apikey`)
  if (secret === undefined) throw new Error(`there is no Secret of ${name}`)
  return secret
}

async function countKeyRows(pool: Pool, keyName: string): Promise<number> {
  const { rowCount } = await pool.query('select from api_keys where name = $1', [keyName])
  return rowCount ?? 0
}

/** A name that no other test has. */
export const freshName = () => `key-${randomUUID().slice(0, 8)}`

type SeenStatus = {
  readonly keyID?: string
  readonly keyPrefix?: string
  readonly managedBy?: string
  readonly secretRef?: { readonly name: string }
  readonly observedGeneration?: number
  readonly rotation?: Readonly<Record<string, string>>
}

export function statusOf(object: ClusterObject | undefined): SeenStatus {
  const status: SeenStatus = Object(object?.status)
  return status
}
