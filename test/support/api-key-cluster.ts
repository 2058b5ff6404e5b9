import { randomBytes, randomUUID } from 'node:crypto'
import { expect, vi } from 'vitest'
import { z } from 'zod'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { createOrganization } from '#core/organizations/organization-store'
import { type ClusterClient, createClusterClient } from '#operator/runtime/cluster-client'
import type { ClusterObject } from '#operator/runtime/cluster-object'
import { type Condition, conditionsOf } from '#operator/runtime/conditions'
import { apiKeys, secrets } from '#operator/runtime/resources'
import { type Cluster, clusterOfThisFile, type OwnCluster, ownClusterOfThisFile } from './cluster.ts'
import type { Process } from './processes.ts'
import { inTestScope } from './scope.ts'
import { type Stack, stackOfThisFile } from './stack.ts'

/** A cluster, a whole system next to it, and words for what people do with ApiKeys and see of them. */
export type KeyCluster<C extends Cluster = Cluster> = {
  readonly cluster: C
  readonly stack: Stack
  readonly client: ClusterClient
  /** An organization with money, and a namespace that may spend it. `keysMay`: what its ApiKeys may beyond the usual. */
  createTeam(keysMay?: string): Promise<Team>
  /** Status that a gateway answers to a key. */
  gatewayStatus(gateway: Process, text: string): Promise<number>
  /** The same once it is not 503: a gateway gives up on a Redis that has had no processor for 100 ms. */
  settledStatus(gateway: Process, text: string): Promise<number>
}

export type Team = {
  readonly organization: string
  readonly organizationId: string
  readonly namespace: string
  apply(name: string, spec?: object): Promise<ClusterObject>
  remove(name: string): Promise<void>
  find(name: string): Promise<ClusterObject | undefined>
  /** Its conditions by type, once it has that reason of `Ready`. */
  untilReady(name: string, reason?: string): Promise<Record<string, Condition>>
  untilGone(name: string): Promise<void>
  secret(name: string): Promise<ClusterObject | undefined>
  /** The decoded entries of its Secret, once it is ready. */
  readyValues(name: string): Promise<Record<string, string>>
  /** Reasons of the events of an ApiKey. */
  events(name: string): Promise<readonly string[]>
}

/** Both for this test file. Call it at the top of the file. */
export async function keyClusterOfThisFile(): Promise<KeyCluster> {
  const [cluster, stack] = await Promise.all([clusterOfThisFile(), stackOfThisFile()])
  return keyClusterOn(cluster, stack)
}

/** The same on a cluster that serves this file only. */
export async function ownKeyClusterOfThisFile(
  ...options: Parameters<typeof ownClusterOfThisFile>
): Promise<KeyCluster<OwnCluster>> {
  const [cluster, stack] = await Promise.all([ownClusterOfThisFile(...options), stackOfThisFile()])
  return keyClusterOn(cluster, stack)
}

function keyClusterOn<C extends Cluster>(cluster: C, stack: Stack): KeyCluster<C> {
  const client = createClusterClient(cluster.kubeConfig)
  return {
    cluster,
    stack,
    client,
    async createTeam(keysMay) {
      const organization = `org-${randomBytes(6).toString('hex')}`
      const { id } = await inTestScope(stack.database.pool, (client) =>
        createOrganization(client, organization),
      )
      const amount = nanoRub(100_000_000_000n)
      await inTestScope(stack.database.pool, (client) =>
        credit(client, { organizationId: id, kind: 'adjustment', refId: randomUUID(), amount }),
      )
      const namespace = await cluster.createNamespace(organization, keysMay)
      return {
        organization,
        organizationId: id,
        namespace,
        ...teamWords({ client, cluster }, { namespace, organization }),
      }
    },
    gatewayStatus,
    settledStatus: (gateway, text) =>
      vi.waitFor(
        async () => {
          const status = await gatewayStatus(gateway, text)
          expect(status).not.toBe(503)
          return status
        },
        { timeout: 15_000, interval: 20 },
      ),
  }
}

async function gatewayStatus(gateway: Process, text: string): Promise<number> {
  const { status } = await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${text}` } })
  return status
}

type TeamWords = Omit<Team, 'organization' | 'organizationId' | 'namespace'>

function teamWords(
  { client, cluster }: Pick<KeyCluster, 'client' | 'cluster'>,
  { namespace, organization }: Pick<Team, 'namespace' | 'organization'>,
): TeamWords {
  const nameOf = (name: string) => ({ namespace, name })
  const find = (name: string) => client.find(apiKeys, nameOf(name))
  const untilReady: TeamWords['untilReady'] = (name, reason = 'Programmed') =>
    vi.waitFor(
      async () => {
        const object = await find(name)
        const conditions = Object.fromEntries(
          (object === undefined ? [] : conditionsOf(object)).map((condition) => [condition.type, condition]),
        )
        expect(conditions.Ready?.reason).toBe(reason)
        expect(conditions.Ready?.observedGeneration).toBe(object?.metadata.generation)
        return conditions
      },
      { timeout: 20_000, interval: 20 },
    )
  const secret: TeamWords['secret'] = (name) => client.find(secrets, nameOf(name))
  return {
    find,
    untilReady,
    secret,
    async apply(name, spec = {}) {
      const applied = await client.apply(apiKeys, { metadata: nameOf(name), spec: { organization, ...spec } })
      if (applied === 'conflict') throw new Error(`${name} is another object`)
      return applied
    },
    async remove(name) {
      const object = await find(name)
      if (object !== undefined) await client.remove(apiKeys, object)
    },
    untilGone: (name) =>
      vi.waitFor(async () => expect(await find(name)).toBeUndefined(), { timeout: 20_000, interval: 20 }),
    async readyValues(name) {
      await untilReady(name)
      return valuesOf(await secret(`${name}-apikey`))
    },
    async events(name) {
      const list = eventListSchema.parse(
        JSON.parse(
          await cluster.kubectlOk(['get', 'events.v1.events.k8s.io', '-n', namespace, '-o', 'json']),
        ),
      )
      return list.items.filter(({ regarding }) => regarding.name === name).map(({ reason }) => reason)
    },
  }
}

const eventListSchema = z.object({
  items: z.array(z.object({ reason: z.string(), regarding: z.object({ name: z.string() }) })),
})

/** The decoded entries of a Secret. */
export function valuesOf(secret: ClusterObject | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secret?.data ?? {}).map(([name, value]) => [
      name,
      Buffer.from(value, 'base64').toString(),
    ]),
  )
}
