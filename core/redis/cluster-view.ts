/** A node of a cluster, as some node describes it. */
export type ClusterNode = {
  readonly id: string
  /** Host and port; the host name if the node announces one. */
  readonly server: string
  readonly isSelf: boolean
  readonly isPrimary: boolean
  /** Of two nodes that claim a slot, the one with the higher epoch has it. */
  readonly epoch: number
  /** First and last slot of each range. */
  readonly slots: readonly (readonly [number, number])[]
  /** Slots that are leaving it by the old migration, under which scripts may end halfway. Each node shows only its own. */
  readonly migratingSlots: readonly number[]
  /** Slots that are coming to it by the old migration. Each node shows only its own. */
  readonly importingSlots: readonly number[]
  /** Other nodes do not reach it. */
  readonly isFailing: boolean
}

/** The reply of one server to `CLUSTER NODES`; `single`: it belongs to no cluster. */
export type ClusterView = {
  readonly server: string
  readonly nodes: readonly ClusterNode[] | 'single'
}

/** Where the slots are, or the reason for which none is used, as one sentence. */
export type ClusterPlan =
  | {
      readonly outcome: 'found'
      readonly ownerOf: (slot: number) => ClusterNode | undefined
      /** Also those without slots, unless they are failing. */
      readonly primaries: readonly ClusterNode[]
      /**
       * Where primaries are that leave this slot to its owner, by their own view. If one of them had it immediately before,
       * it has handed it over with all data; after a failover, the former primary is none, or still claims the slot.
       */
      readonly yieldedBy: (slot: number) => readonly string[]
    }
  | { readonly outcome: 'rejected'; readonly why: string }

/** @param server where the text comes from: a node that does not know its own address is there. */
export function parseClusterNodes(text: string, server: string): readonly ClusterNode[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => parseLine(line.trim().split(' '), server))
    .filter((node) => node !== undefined)
}

function parseLine(words: readonly string[], server: string): ClusterNode | undefined {
  const [id, address = '', flagText = '', , , , epoch, , ...slotTexts] = words
  const flags = new Set(flagText.split(','))
  if (id === undefined || epoch === undefined || flags.has('noaddr') || flags.has('handshake'))
    return undefined
  const isSelf = flags.has('myself')
  return {
    id,
    server: serverIn(address, isSelf ? server : undefined),
    isSelf,
    isPrimary: flags.has('master'),
    epoch: Number(epoch),
    slots: slotTexts.flatMap((slots) => rangeIn(slots) ?? []),
    migratingSlots: slotTexts.flatMap((slots) => /^\[(\d+)->-/.exec(slots)?.slice(1).map(Number) ?? []),
    importingSlots: slotTexts.flatMap((slots) => /^\[(\d+)-<-/.exec(slots)?.slice(1).map(Number) ?? []),
    isFailing: flags.has('fail') || flags.has('fail?'),
  }
}

/** `ip:port@busport,hostname,key=value…`. */
function serverIn(address: string, own: string | undefined): string {
  const [place = '', hostname = ''] = address.split(',')
  const [hostAndPort = ''] = place.split('@')
  const colon = hostAndPort.lastIndexOf(':')
  const ip = hostAndPort.slice(0, colon)
  const host = hostname === '' ? (ip.includes(':') ? `[${ip}]` : ip) : hostname
  if (host === '' && own !== undefined) return own
  return `${host}:${hostAndPort.slice(colon + 1)}`
}

function rangeIn(text: string): [readonly [number, number]] | undefined {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? []
  return first === undefined ? undefined : [[Number(first), Number(last)]]
}

/**
 * Puts the views of several servers together. Some may be old, of a server that was frozen or cut off: as in the cluster
 * itself, the claim with the highest epoch counts.
 */
export function planCluster(views: readonly ClusterView[]): ClusterPlan {
  const single = views.find(({ nodes }) => nodes === 'single')
  if (single !== undefined)
    return {
      outcome: 'rejected',
      why: `REDIS_URL lists several servers, but ${single.server} belongs to no cluster: list nodes of one cluster, or only one server`,
    }
  const known = views.flatMap(({ nodes }) => (nodes === 'single' ? [] : [nodes])).filter(hasSlots)
  const [first = []] = known
  const ids = new Set(first.map(({ id }) => id))
  const stranger = known.find((nodes) => !nodes.some(({ id }) => ids.has(id)))
  if (stranger !== undefined)
    return {
      outcome: 'rejected',
      why: `REDIS_URL lists nodes of two clusters, one with ${serverOfSelf(first)} and one with ${serverOfSelf(stranger)}: list nodes of one`,
    }
  const claims = known
    .flat()
    .filter(({ isPrimary, slots }) => isPrimary && slots.length > 0)
    .toSorted((one, other) => other.epoch - one.epoch)
  const primaries = known.flat().filter(({ isPrimary, isFailing }) => isPrimary && !isFailing)
  const importing = primaries.flatMap((node) => node.importingSlots.filter((slot) => !has(node, slot)))
  const moving = new Set([...claims.flatMap(({ migratingSlots }) => migratingSlots), ...importing])
  const ownerOf = (slot: number) => (moving.has(slot) ? undefined : claims.find((node) => has(node, slot)))
  return {
    outcome: 'found',
    ownerOf,
    primaries: [...new Map(primaries.map((node) => [node.id, node])).values()],
    yieldedBy(slot) {
      const owner = ownerOf(slot)
      return owner === undefined
        ? []
        : views.flatMap((view) => (yields(view, slot, owner) ? view.server : []))
    },
  }
}

function yields({ nodes }: ClusterView, slot: number, owner: ClusterNode): boolean {
  if (nodes === 'single') return false
  const self = nodes.find(({ isSelf }) => isSelf)
  const seenOwner = nodes.find((node) => node.isPrimary && has(node, slot))
  return self?.isPrimary === true && self.id !== owner.id && seenOwner?.id === owner.id
}

/** A server that has not joined yet knows only itself. */
function hasSlots(nodes: readonly ClusterNode[]): boolean {
  return nodes.some(({ slots }) => slots.length > 0)
}

function serverOfSelf(nodes: readonly ClusterNode[]): string {
  return nodes.find(({ isSelf }) => isSelf)?.server ?? 'unknown'
}

function has({ slots }: ClusterNode, slot: number): boolean {
  return slots.some(([first, last]) => slot >= first && slot <= last)
}
