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
}

/** The reply of one server to `CLUSTER NODES`; `single`: it belongs to no cluster. */
export type ClusterView = {
  readonly server: string
  readonly nodes: readonly ClusterNode[] | 'single'
}

/** Where the slots are, or the reason for which none is used, as one sentence. */
export type ClusterPlan =
  | { readonly outcome: 'found'; readonly ownerOf: (slot: number) => ClusterNode | undefined }
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
  const moving = new Set(claims.flatMap(({ migratingSlots }) => migratingSlots))
  return {
    outcome: 'found',
    ownerOf: (slot) => (moving.has(slot) ? undefined : claims.find((node) => has(node, slot))),
  }
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
