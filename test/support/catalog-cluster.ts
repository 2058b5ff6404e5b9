import { randomBytes } from 'node:crypto'
import { expect, vi } from 'vitest'
import type { Condition } from '#operator/runtime/conditions'
import { type Cluster, clusterOfThisFile } from './cluster.ts'
import { operatorsOfThisFile } from './operator.ts'
import { patient } from './patient-gateway.ts'
import type { Process } from './processes.ts'
import { type Stack, stackOfThisFile, untilOpen } from './stack.ts'

/** A cluster whose ModelProviders are at the scripted provider, next to a whole system. */
export type CatalogCluster = {
  readonly cluster: Cluster
  readonly stack: Stack
  /** Of the release; objects are created here by default. */
  readonly namespace: string
  /** Starts a worker, an operator with these settings, and a gateway, which is open then; `key` is of a customer with money. */
  serve(
    operatorSettings: Readonly<Record<string, string>>,
  ): Promise<{ readonly gateway: Process; readonly key: string }>
  /** Applies an object; in this project's API group by default. */
  apply(object: object): Promise<void>
  /** At the scripted provider by default. */
  applyProvider(name: string, spec?: object, place?: string): Promise<void>
  /** For `tests/<name>`, free by default; returns the model. */
  applyRoute(name: string, provider: string, spec?: object, place?: string): Promise<string>
  /** Lets routes of a namespace offer these models, in the form of its annotation. */
  letOffer(place: string, models: string): Promise<void>
  remove(kind: string, name: string): Promise<void>
  waitReady(route: string): Promise<void>
  /** Conditions by type, as `Status/Reason`. */
  sayings(kind: string, name: string, place?: string): Promise<Readonly<Record<string, string>>>
  /** Resolves once these conditions are so; answers the message of the first. */
  until(kind: string, name: string, wanted: Readonly<Record<string, string>>, place?: string): Promise<string>
}

export const apiVersion = 'modelgateway.dev/v1alpha1'

/** A name that no other test has. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`
}

/** Starts everything for this test file; it ends with the file. Call it at the top of the file. */
export async function catalogClusterOfThisFile(): Promise<CatalogCluster> {
  const [cluster, stack] = await Promise.all([clusterOfThisFile(), stackOfThisFile()])
  const operators = operatorsOfThisFile()
  const namespace = await cluster.createNamespace()

  async function apply(object: object): Promise<void> {
    await cluster.kubectlOk(['apply', '-f', '-'], JSON.stringify({ apiVersion, ...object }))
  }

  async function conditions(kind: string, name: string, place = namespace): Promise<readonly Condition[]> {
    const { stdout } = await cluster.kubectl(['-n', place, 'get', kind, name, '-o', 'json'])
    return stdout === '' ? [] : (JSON.parse(stdout).status?.conditions ?? [])
  }

  return {
    cluster,
    stack,
    namespace,
    async serve(operatorSettings) {
      const [gateway] = await Promise.all([
        stack.startGateway(patient),
        stack.startWorker(),
        operators.start({ cluster, databaseUrl: stack.database.url, namespace }, operatorSettings),
      ])
      const [{ key }] = await Promise.all([stack.createCustomer(), untilOpen(gateway)])
      return { gateway, key }
    },
    apply,
    async applyProvider(name, spec = {}, place = namespace) {
      const network = { http: true, privateAddresses: true }
      await apply({
        kind: 'ModelProvider',
        metadata: { name, namespace: place },
        spec: { api: 'OpenAI', baseURL: stack.upstream.url, network, ...spec },
      })
    },
    async applyRoute(name, provider, spec = {}, place = namespace) {
      const model = `tests/${name}`
      const backends = [{ name: 'main', providerRef: { name: provider }, model: name }]
      await apply({
        kind: 'ModelRoute',
        metadata: { name, namespace: place },
        spec: { model, free: true, backends, ...spec },
      })
      return model
    },
    async letOffer(place, models) {
      const annotation = `modelgateway.dev/may-offer=${models}`
      await cluster.kubectlOk(['annotate', '--overwrite', 'namespace', place, annotation])
    },
    async remove(kind, name) {
      await cluster.kubectlOk(['-n', namespace, 'delete', kind, name])
    },
    async waitReady(route) {
      const wait = ['wait', '--for=condition=Ready', `modelroute/${route}`, '--timeout=20s']
      await cluster.kubectlOk(['-n', namespace, ...wait])
    },
    sayings: async (kind, name, place) => sayingsOf(await conditions(kind, name, place)),
    until: (kind, name, wanted, place) =>
      vi.waitFor(async () => {
        const said = await conditions(kind, name, place)
        expect(sayingsOf(said)).toMatchObject(wanted)
        const [first] = Object.keys(wanted)
        return said.find(({ type }) => type === first)?.message ?? ''
      }),
  }
}

function sayingsOf(conditions: readonly Condition[]): Readonly<Record<string, string>> {
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]))
}
