import { z } from 'zod'
import { nanoOf } from '#core/keys/key-resource'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import { type ClusterObject, keyOf, namespaceOfKey } from '../../runtime/cluster-object.ts'
import { claimsToBeMirror } from '../../status/managed-by.ts'
import type { Standing } from '../bound-key.ts'
import { type KeyCeiling, lower } from './key-ceiling.ts'

/** The ApiKeys of each namespace by age: a quota admits the older ones. */
export type Standings = {
  /**
   * Call when an ApiKey is new, changed or deleted. Returns the keys of those whose standing changes within the quota, which
   * may include its own.
   */
  note(key: string, object: ClusterObject | undefined, ceiling: KeyCeiling): readonly string[]
  /** Of an ApiKey that exists. */
  standingOf(object: ClusterObject, ceiling: KeyCeiling): Standing
}

type Entry = {
  readonly key: string
  /** Creation time and name: the order within the namespace. */
  readonly order: string
  /** The daily budget that its spec asks for. */
  readonly budgetNano: NanoRub | null
}

export function createStandings(): Standings {
  const entriesOf = new Map<string, Entry[]>()
  const orderOf = new Map<string, string>()

  function find(key: string): { readonly entries: Entry[]; readonly at: number } | undefined {
    const order = orderOf.get(key)
    const entries = entriesOf.get(namespaceOfKey(key))
    return order === undefined || entries === undefined ? undefined : { entries, at: placeOf(entries, order) }
  }

  function remove(key: string): number | undefined {
    const found = find(key)
    if (found === undefined) return undefined
    found.entries.splice(found.at, 1)
    orderOf.delete(key)
    if (found.entries.length === 0) entriesOf.delete(namespaceOfKey(key))
    return found.at
  }

  function insert(entry: Entry): number {
    const namespace = namespaceOfKey(entry.key)
    const entries = entriesOf.get(namespace) ?? []
    const at = placeOf(entries, entry.order)
    entries.splice(at, 0, entry)
    entriesOf.set(namespace, entries)
    orderOf.set(entry.key, entry.order)
    return at
  }

  return {
    note(key, object, ceiling) {
      const entry = object === undefined || claimsToBeMirror(object) ? undefined : entryOf(key, object)
      const found = find(key)
      const known = found?.entries[found.at]
      if (known?.order === entry?.order && known?.budgetNano === entry?.budgetNano) return []
      const places = [remove(key), entry && insert(entry)].flatMap((at) => at ?? [])
      const entries = entriesOf.get(namespaceOfKey(key)) ?? []
      return changedKeys(entries, Math.min(...places), ceiling)
    },
    standingOf(object, ceiling) {
      if (claimsToBeMirror(object)) return { before: 0, count: 0, budgetLeftNano: null }
      const key = keyOf(object.metadata)
      if (!orderOf.has(key)) insert(entryOf(key, object))
      const { entries, at } = find(key) ?? { entries: [], at: 0 }
      return { before: at, count: entries.length, budgetLeftNano: budgetLeft(entries, at, ceiling) }
    },
  }
}

/** Those from the first place that changed on, as far as the quota admits any, and the first that it does not. */
function changedKeys(entries: readonly Entry[], from: number, ceiling: KeyCeiling): readonly string[] {
  const { apiKeys, totalBudgetNano } = ceiling
  // Without a total, a change admits or refuses only the last one.
  const start = totalBudgetNano === null ? Math.max(from, apiKeys - 1) : from
  return entries.slice(start, apiKeys + 1).map(({ key }) => key)
}

const budgetSchema = z.object({ limits: z.object({ dailyBudgetRub: z.string() }) })

function entryOf(key: string, { metadata, spec }: ClusterObject): Entry {
  return {
    key,
    order: `${metadata.creationTimestamp ?? ''} ${metadata.name}`,
    budgetNano: nanoOf(budgetSchema.safeParse(spec).data?.limits.dailyBudgetRub),
  }
}

/** The first place whose entry does not come before this order. */
function placeOf(entries: readonly Entry[], order: string): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.order ?? '') < order) low = middle + 1
    else high = middle
  }
  return low
}

/** What the budgets of the entries before a place leave of the total. Each gets what it asks for, or what is left. */
function budgetLeft(entries: readonly Entry[], at: number, ceiling: KeyCeiling): NanoRub | null {
  const { totalBudgetNano, dailyBudgetNano } = ceiling
  if (totalBudgetNano === null) return null
  let left: bigint = totalBudgetNano
  for (const { budgetNano } of entries.slice(0, Math.min(at, ceiling.apiKeys))) {
    const wanted = lower<bigint>(budgetNano, dailyBudgetNano) ?? 0n
    left -= wanted < left ? wanted : left
  }
  return nanoRub(left)
}
