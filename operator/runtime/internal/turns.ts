/**
 * What waits, in groups that take turns: a long group does not hold up a short one. Within a group, items that came as
 * `later` leave after all others; otherwise the first to come is the first to leave.
 */
export type Turns<Item> = {
  /** Puts the item at the end of its part of the group. An item with the same id leaves its place. */
  add(group: string, id: string, item: Item, part?: 'now' | 'later'): void
  delete(group: string, id: string): void
  find(group: string, id: string): Item | undefined
  /** Removes the first item of the group whose turn it is. A group whose first item `stays` is passed over. */
  take(stays?: (item: Item) => boolean): Item | undefined
  readonly size: number
}

type Group<Item> = { readonly now: Map<string, Item>; readonly later: Map<string, Item> }

export function createTurns<Item>(): Turns<Item> {
  /** The group whose turn is next comes first. Empty ones are not here. */
  const groups = new Map<string, Group<Item>>()
  let size = 0

  function remove(name: string, id: string): void {
    const group = groups.get(name)
    if (group === undefined || !(group.now.delete(id) || group.later.delete(id))) return
    size -= 1
    if (group.now.size + group.later.size === 0) groups.delete(name)
  }

  /** Its next turn comes after those of all others. */
  function endTurn(name: string): void {
    const group = groups.get(name)
    if (group === undefined) return
    groups.delete(name)
    groups.set(name, group)
  }

  return {
    add(name, id, item, part = 'now') {
      remove(name, id)
      const group = groups.get(name) ?? { now: new Map(), later: new Map() }
      group[part].set(id, item)
      groups.set(name, group)
      size += 1
    },
    delete: remove,
    find: (name, id) => groups.get(name)?.now.get(id) ?? groups.get(name)?.later.get(id),
    take(stays = () => false) {
      for (const [name, group] of groups) {
        const [id, item] = firstOf(group)
        if (stays(item)) continue
        remove(name, id)
        endTurn(name)
        return item
      }
      return undefined
    },
    get size() {
      return size
    },
  }
}

function firstOf<Item>({ now, later }: Group<Item>): readonly [string, Item] {
  const [first] = now.size > 0 ? now : later
  if (first === undefined) throw new Error('an empty group was kept')
  return first
}
