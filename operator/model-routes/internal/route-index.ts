import { z } from 'zod'
import { type ClusterObject, keyOf, type ObjectName } from '../../runtime/cluster-object.ts'

/** Finds the ModelRoutes for a model or with a provider without reading all of them. */
export type RouteIndex = {
  /**
   * Call when a ModelRoute is new, changed or, without an object, deleted. Returns the keys of those it
   * affects, including its own.
   */
  note(key: string, object: ClusterObject | undefined): readonly string[]
  /** Keys of the ModelRoutes of a namespace, and of all others for one of their models. */
  concernedBy(namespace: string): readonly string[]
  /** The oldest of the allowed ModelRoutes for this model, by age and then by name. */
  oldest(model: string, counts: (name: ObjectName) => boolean): ObjectName | undefined
  /** Keys of the ModelRoutes that use a ModelProvider, `namespace/name`. */
  usersOf(providerKey: string): readonly string[]
}

/** The parts of a ModelRoute that the index needs, whatever else is wrong with it. */
const specSchema = z.object({
  model: z.string(),
  backends: z
    .array(z.object({ providerRef: z.object({ name: z.string(), namespace: z.string().optional() }) }))
    .catch([]),
})

type Entry = ObjectName & {
  readonly model: string | undefined
  readonly providers: readonly string[]
  readonly createdAt: string
}

export function createRouteIndex(): RouteIndex {
  const entries = new Map<string, Entry>()
  const byModel = createGroups()
  const byProvider = createGroups()

  function forget(key: string, entry: Entry): void {
    if (entry.model !== undefined) byModel.remove(entry.model, key)
    for (const provider of entry.providers) byProvider.remove(provider, key)
    entries.delete(key)
  }

  function add(key: string, entry: Entry): void {
    if (entry.model !== undefined) byModel.add(entry.model, key)
    for (const provider of entry.providers) byProvider.add(provider, key)
    entries.set(key, entry)
  }

  return {
    note(key, object) {
      const before = entries.get(key)
      if (before !== undefined) forget(key, before)
      const after = object === undefined ? undefined : entryOf(object)
      if (after !== undefined) add(key, after)
      const isNews = before === undefined || after === undefined || before.model !== after.model
      if (!isNews) return [key]
      const models = [before?.model, after?.model].filter((model) => model !== undefined)
      return [...new Set([key, ...models.flatMap(byModel.members)])]
    },
    concernedBy(namespace) {
      const own = [...entries].filter(([, entry]) => entry.namespace === namespace)
      const rivals = own.flatMap(([, { model }]) => (model === undefined ? [] : byModel.members(model)))
      return [...new Set([...rivals, ...own.map(([key]) => key)])]
    },
    oldest(model, counts) {
      const all = byModel.members(model).flatMap((key) => entries.get(key) ?? [])
      const [first] = all.filter(counts).sort(byAge)
      return first === undefined ? undefined : { namespace: first.namespace, name: first.name }
    },
    usersOf: byProvider.members,
  }
}

function entryOf({ metadata, spec }: ClusterObject): Entry {
  const { namespace = '', name, creationTimestamp = '' } = metadata
  const { data } = specSchema.safeParse(spec)
  const providers =
    data?.backends.map(({ providerRef }) =>
      keyOf({ ...providerRef, namespace: providerRef.namespace ?? namespace }),
    ) ?? []
  return {
    namespace,
    name,
    model: data?.model,
    providers: [...new Set(providers)],
    createdAt: creationTimestamp,
  }
}

function byAge(one: Entry, other: Entry): number {
  const text = ({ createdAt, namespace, name }: Entry) => `${createdAt} ${namespace}/${name}`
  return text(one) < text(other) ? -1 : 1
}

function createGroups() {
  const groups = new Map<string, Set<string>>()
  return {
    add(group: string, key: string): void {
      const members = groups.get(group) ?? new Set()
      groups.set(group, members.add(key))
    },
    remove(group: string, key: string): void {
      const members = groups.get(group)
      members?.delete(key)
      if (members?.size === 0) groups.delete(group)
    },
    members: (group: string): readonly string[] => [...(groups.get(group) ?? [])],
  }
}
