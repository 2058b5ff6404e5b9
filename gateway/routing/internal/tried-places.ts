import type { Trouble } from '#cabinet/catalogue/gateway-report'
import type { Backend, Provider, RouteTable } from '../route-table.ts'
import type { PlaceHealth } from '../unhealthy.ts'
import { createBoundedMap } from './bounded-map.ts'
import { type Health, isSick, well } from './health.ts'

/** What is remembered of a model at a provider: the same place, whatever route leads there. */
export type TriedPlace = {
  health: Health
  /** Of the last failure, and since when they are of this kind; `null`: none since the last good answer. */
  trouble: { readonly kind: Trouble; readonly sinceMs: number } | null
  /** Lives on where the rest begins anew. */
  readonly load: { inFlight: number }
}

export type TriedPlaces = {
  get(backend: Backend): TriedPlace
  find(backend: Backend): TriedPlace | undefined
  /** @param answeredAtMs when the last request was sent that a provider answered well. */
  healths(answeredAtMs: (provider: string) => number): readonly PlaceHealth[]
  /**
   * A table is served from now on. Places that are not in it are forgotten; those whose provider's document has changed,
   * such as by another credential, begin anew, and what was sent before teaches nothing.
   */
  follow(table: Pick<RouteTable, 'routes'>): void
}

/** Remembers the places that were tried, for as long as a route leads there. */
export function createTriedPlaces(): TriedPlaces {
  const places = createBoundedMap<TriedPlace>(() => anew({ inFlight: 0 }))
  let followed: ReadonlyMap<string, Provider> = new Map()
  return {
    get: (backend) => places.get(nameOf(backend)),
    find: (backend) => places.find(nameOf(backend)),
    healths: (answeredAtMs) =>
      [...places.entries()].map(([name, { health, trouble }]) => {
        const end = name.indexOf('\n')
        const provider = name.slice(0, end)
        return {
          provider,
          model: name.slice(end + 1),
          isResting: health.rests > 0,
          trouble: trouble !== null && isSick(health) ? trouble.kind : null,
          providerAnswers: trouble !== null && answeredAtMs(provider) > trouble.sinceMs,
        }
      }),
    follow({ routes }) {
      const led = new Map(
        routes.flatMap(({ backends }) => backends.map((each) => [nameOf(each), each.provider] as const)),
      )
      for (const [name, { load }] of places.entries()) {
        const provider = led.get(name)
        if (provider === undefined) places.delete(name)
        else if (provider !== followed.get(name)) places.replace(name, anew(load))
      }
      followed = led
    },
  }
}

function anew(load: TriedPlace['load']): TriedPlace {
  return { health: well, trouble: null, load }
}

function nameOf({ provider, dialect }: Backend): string {
  return `${provider.name}\n${dialect.model}`
}
