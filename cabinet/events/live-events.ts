import type { Pool } from 'pg'
import type { Member } from '../api/access.ts'
import type { EventFeed, EventReader, ServerEvent } from '../api/endpoint.ts'
import { inReadScope } from '../audit/scope.ts'
import type { Hint } from '../db/change-hints.ts'
import { readAccountVersions } from '../ledger/balance.ts'
import { findOpenSessions } from '../people/session-store.ts'
import { createHintedIds, resync } from './internal/hinted-ids.ts'

/** What the pages of organizations are told as it happens. */
export type LiveEvents = {
  /**
   * The events of a member's organization, as long as the session lasts. The first is `resync`: from then on everything
   * that changes is told, at most once a second; where something may have been missed, there is another `resync`.
   *
   * `too_many_of_person`, `full`: there are as many as one person, or this process, may have.
   */
  watch(viewer: Viewer): EventFeed | 'too_many_of_person' | 'full'
  onHint(hint: Hint): void
  /** Ends all of them, and lets none begin. */
  stop(): void
}

type Viewer = Pick<Member, 'userId' | 'sessionId' | 'organizationId'>

type Watcher = Viewer & {
  readonly reader: EventReader
  /** Has been told `resync`. */
  isCurrent: boolean
}

const lookEveryMs = 1_000
const ofPersonMax = 8
/** Each costs a connection and some tens of KB. */
const watchersMax = 2_000

const ended: ServerEvent = { name: 'ended', data: {} }
const balance: ServerEvent = { name: 'balance', data: {} }

/**
 * One for a process: whoever watches shares its statements, one look a second. Balances are found by these looks, so that
 * no charge has to notify anybody; keys and payments by hints.
 */
export function createLiveEvents(pool: Pool): LiveEvents {
  const watchers = new Set<Watcher>()
  const hinted = createHintedIds()
  let versions: ReadonlyMap<string, bigint> = new Map()
  let ticking: NodeJS.Timeout | undefined
  let isLooking = false
  let isStopped = false

  /** Something may have been missed: the next look that succeeds makes everybody read again. */
  function distrust(): void {
    for (const watcher of watchers) watcher.isCurrent = false
  }

  /** One at a time. What happens meanwhile is told by the next one. */
  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    const asking = [...watchers]
    const behind = new Set(asking.filter(({ isCurrent }) => !isCurrent))
    for (const watcher of behind) watcher.isCurrent = true
    const hintsOf = hinted.take()
    try {
      const marks = await readMarks(pool, asking)
      const isBooked = (id: string) => versions.get(id) !== marks.versions.get(id)
      for (const watcher of asking) {
        const { organizationId: id } = watcher
        const news = [...(isBooked(id) ? [balance] : []), ...hintsOf(id)]
        tell(watcher, marks.sessions, behind.has(watcher) ? [resync] : news)
      }
      versions = marks.versions
    } catch {
      distrust() // Postgres is away, which whoever reads is told by the answers
    }
    isLooking = false
  }

  function tell(watcher: Watcher, sessions: Marks['sessions'], news: readonly ServerEvent[]): void {
    const { sessionId, organizationId, reader, isCurrent } = watcher
    if (!watchers.has(watcher)) return
    const isOpen = sessions.get(sessionId) === organizationId
    if (isOpen && !isCurrent) return
    for (const event of isOpen ? news : [ended]) reader.send(event)
    if (!isOpen) reader.end()
  }

  function begin(watcher: Watcher): void {
    watchers.add(watcher)
    ticking ??= setInterval(look, lookEveryMs)
    void look()
  }

  function leave(watcher: Watcher): void {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }

  return {
    watch({ userId, sessionId, organizationId }) {
      if (isStopped || watchers.size >= watchersMax) return 'full'
      const isTheirs = (watcher: Watcher) => watcher.userId === userId
      if ([...watchers].filter(isTheirs).length >= ofPersonMax) return 'too_many_of_person'
      return (reader) => {
        const watcher = { userId, sessionId, organizationId, reader, isCurrent: false }
        begin(watcher)
        return () => leave(watcher)
      }
    },
    onHint(hint) {
      if (hint.kind === 'everything') distrust()
      if (hint.kind !== 'of_organization') return
      const isTheirs = (watcher: Watcher) => watcher.organizationId === hint.organizationId
      if ([...watchers].some(isTheirs)) hinted.add(hint)
    },
    stop() {
      isStopped = true
      for (const { reader } of watchers) reader.end()
    },
  }
}

type Marks = Awaited<ReturnType<typeof readMarks>>

function readMarks(pool: Pool, watchers: readonly Watcher[]) {
  const sessionIds = watchers.map(({ sessionId }) => sessionId)
  const organizationIds = [...new Set(watchers.map(({ organizationId }) => organizationId))]
  return inReadScope(pool, null, async (client) => ({
    sessions: await findOpenSessions(client, sessionIds),
    versions: await readAccountVersions(client, organizationIds),
  }))
}
