import type { Trouble as TroubleKind } from '#core/catalog/gateway-report'
import type { DeploymentHealth } from '../health-report.ts'
import type { Backend, Provider, RouteTable } from '../route-table.ts'
import { createBoundedMap } from './bounded-map.ts'
import { type Health, healthy, isRecovering, isUnhealthy } from './health.ts'

/** The memory about a model at a provider, for every route that uses it. */
export type Deployment = {
  health: Health
  /** Of the last failure, and since when they are of this kind; `null`: none since the last good answer. */
  trouble: Trouble | null
  /** Stays where all else is forgotten. */
  readonly load: { inFlight: number }
}

type Trouble = { readonly kind: TroubleKind; readonly sinceMs: number }

/** A provider that answered well a request sent within this time is busy. */
const busyMs = 2_000

export type Deployments = {
  get(backend: Backend): Deployment
  find(backend: Backend): Deployment | undefined
  /** @param answeredAtMs when the last request was sent that a provider answered well. */
  healths(nowMs: number, answeredAtMs: (provider: string) => number): readonly DeploymentHealth[]
  /**
   * A table is served from now on. Deployments that are not in it are forgotten; those whose provider's document has changed,
   * such as by another credential, start over, and what was sent before teaches nothing.
   */
  follow(table: Pick<RouteTable, 'routes'>): void
}

/** Remembers the deployments that were tried, for as long as a route leads there. */
export function createDeployments(): Deployments {
  const deployments = createBoundedMap<Deployment>(() => untried({ inFlight: 0 }))
  let followed: ReadonlyMap<string, Provider> = new Map()
  return {
    get: (backend) => deployments.get(nameOf(backend)),
    find: (backend) => deployments.find(nameOf(backend)),
    healths: (nowMs, answeredAtMs) =>
      [...deployments.entries()].map(([name, { health, trouble }]) => {
        const end = name.indexOf('\n')
        const provider = name.slice(0, end)
        const answeredMs = answeredAtMs(provider)
        const isTold = isUnhealthy(health) || (trouble !== null && isPlainRefusal(trouble, nowMs, answeredMs))
        return {
          provider,
          model: name.slice(end + 1),
          isRecovering: isRecovering(health),
          trouble: isTold ? (trouble?.kind ?? null) : null,
          providerAnswers: trouble !== null && answeredMs > trouble.sinceMs,
        }
      }),
    follow({ routes }) {
      const led = new Map(
        routes.flatMap(({ backends }) => backends.map((each) => [nameOf(each), each.provider] as const)),
      )
      for (const [name, { load }] of deployments.entries()) {
        const provider = led.get(name)
        if (provider === undefined) deployments.delete(name)
        else if (provider !== followed.get(name)) deployments.replace(name, untried(load))
      }
      followed = led
    },
  }
}

/**
 * Whether one rejection of the credential is enough to report it. Among successful responses it concerns one
 * request only: a provider's firewall returns 403 for content that it rejects.
 */
function isPlainRefusal({ kind, sinceMs }: Trouble, nowMs: number, answeredAtMs: number): boolean {
  return kind === 'unauthorized' && answeredAtMs <= sinceMs && nowMs - answeredAtMs > busyMs
}

function untried(load: Deployment['load']): Deployment {
  return { health: healthy, trouble: null, load }
}

function nameOf({ provider, dialect }: Backend): string {
  return `${provider.name}\n${dialect.model}`
}
