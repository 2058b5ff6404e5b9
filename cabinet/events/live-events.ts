import type { Pool } from 'pg'
import { inReadScope } from '#core/audit/scope'
import type { Hint } from '#core/db/change-hints'
import { readAccountVersions } from '#core/ledger/balance'
import type { Member } from '../api/access.ts'
import type { EventFeed, EventReader, ServerEvent } from '../api/endpoint.ts'
import { findOpenSessions } from '../people/session-store.ts'
import { createHintedIds, resync } from './internal/hinted-ids.ts'
import { createRecentChanges, type RecentChanges } from './internal/recent-changes.ts'

/** Live events for the pages of organizations. */
export type LiveEvents = {
  /**
   * The events of a member's organization, until the session or the membership ends. The first event is `resync`. After it, each change
   * is sent, at most once a second. If changes may have been missed, another `resync` is sent. A page that has read
   * everything after `sinceMs` gets `alive` first instead, if nothing has changed since then.
   *
   * `too_many_of_person`, `full`: the user, or this process, has reached its limit of streams.
   */
  watch(viewer: Viewer, sinceMs?: number): EventFeed | 'too_many_of_person' | 'full'
  onHint(hint: Hint): void
  /** Ends all streams and accepts no new ones. */
  stop(): void
}

type Viewer = Pick<Member, 'userId' | 'sessionId' | 'organizationId'>

type Watcher = Viewer & {
  readonly reader: EventReader
  /** What the page shows was read after this, Unix milliseconds. */
  readonly sinceMs: number | undefined
  /** Has received `resync`. */
  isCurrent: boolean
}

const lookEveryMs = 1_000
/** Clocks of browsers and processes differ, and changes are committed a moment after their time. */
const quietMs = 10_000
const ofPersonMax = 8
/** Each costs a connection and some tens of KB. */
const watchersMax = 2_000

const ended: ServerEvent = { name: 'ended', data: {} }
const alive: ServerEvent = { name: 'alive', data: {} }
const balance: ServerEvent = { name: 'balance', data: {} }

/**
 * One per process. All watchers share its queries, one check per second. Checks find balance changes, so charges need
 * not notify. Hints announce changes of keys and payments.
 */
export function createLiveEvents(pool: Pool): LiveEvents {
  const watchers = new Set<Watcher>()
  const hinted = createHintedIds()
  const recent = createRecentChanges(Date.now)
  let accounts: Accounts = new Map()
  let ticking: NodeJS.Timeout | undefined
  let isLooking = false
  let isStopped = false

  /** Changes may have been missed: the next successful check makes all watchers read again. */
  function distrust(): void {
    recent.distrust()
    for (const watcher of watchers) watcher.isCurrent = false
  }

  /** One check at a time. The next check finds changes made during this one. */
  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    const asking = [...watchers]
    const behind = new Set(asking.filter(({ isCurrent }) => !isCurrent))
    for (const watcher of behind) watcher.isCurrent = true
    const hintsOf = hinted.take()
    try {
      const marks = await readMarks(pool, asking)
      const isBooked = (id: string) => accounts.get(id)?.version !== marks.accounts.get(id)?.version
      for (const watcher of asking) {
        const { organizationId: id } = watcher
        const news = [...(isBooked(id) ? [balance] : []), ...hintsOf(id)]
        const first = isQuiet(watcher, marks.accounts.get(id)?.changedAt, recent) ? alive : resync
        if (watchers.has(watcher)) tell(watcher, marks.sessions, behind.has(watcher) ? [first] : news)
      }
      accounts = marks.accounts
    } catch {
      distrust() // Postgres is unavailable; API responses report it to users
    }
    isLooking = false
  }

  function leave(watcher: Watcher): void {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }

  return {
    watch({ userId, sessionId, organizationId }, sinceMs) {
      if (isStopped || watchers.size >= watchersMax) return 'full'
      const isTheirs = (watcher: Watcher) => watcher.userId === userId
      if ([...watchers].filter(isTheirs).length >= ofPersonMax) return 'too_many_of_person'
      return (reader) => {
        const watcher = { userId, sessionId, organizationId, reader, sinceMs, isCurrent: false }
        watchers.add(watcher)
        ticking ??= setInterval(look, lookEveryMs)
        void look()
        return () => leave(watcher)
      }
    },
    onHint(hint) {
      if (hint.kind === 'everything') distrust()
      if (hint.kind !== 'of_organization') return
      recent.note(hint.organizationId)
      const isTheirs = (watcher: Watcher) => watcher.organizationId === hint.organizationId
      if ([...watchers].some(isTheirs)) hinted.add(hint)
    },
    stop() {
      isStopped = true
      for (const { reader } of watchers) reader.end()
    },
  }
}

/** Whether nothing has changed since the page began to read. A time in the future is of a wrong clock. */
function isQuiet(
  { sinceMs, organizationId }: Watcher,
  changedAt: Date | undefined,
  recent: RecentChanges,
): boolean {
  if (sinceMs === undefined || sinceMs > Date.now() || changedAt === undefined) return false
  const quietSinceMs = sinceMs - quietMs
  return changedAt.getTime() < quietSinceMs && recent.isQuietSince(organizationId, quietSinceMs)
}

/** Sends changes unless one was missed since, and `ended` if the session is over. */
function tell(
  { sessionId, organizationId, reader, isCurrent }: Watcher,
  sessions: Marks['sessions'],
  news: readonly ServerEvent[],
): void {
  const isOpen = sessions.get(sessionId)?.includes(organizationId) === true
  if (isOpen && !isCurrent) return
  for (const event of isOpen ? news : [ended]) reader.send(event)
  if (!isOpen) reader.end()
}

type Accounts = Awaited<ReturnType<typeof readAccountVersions>>

type Marks = Awaited<ReturnType<typeof readMarks>>

function readMarks(pool: Pool, watchers: readonly Watcher[]) {
  const sessionIds = watchers.map(({ sessionId }) => sessionId)
  const organizationIds = [...new Set(watchers.map(({ organizationId }) => organizationId))]
  return inReadScope(pool, null, async (client) => ({
    sessions: await findOpenSessions(client, sessionIds),
    accounts: await readAccountVersions(client, organizationIds),
  }))
}
