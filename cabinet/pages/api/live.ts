import type { Query } from '@tanstack/react-query'
import { useEffect } from 'react'
import { goToLogin } from '../navigation/sign-in-again.ts'
import { addressOf, call } from './call.ts'
import { startLiveRounds } from './live-rounds.ts'
import { namingOrganization, organizationOfTab } from './organization.ts'
import { asProblem } from './problem.ts'
import { queryClient } from './query-client.ts'
import { serverNowMs } from './server-clock.ts'

/** For each hint of the server: the endpoints whose responses have changed, by the beginning of their path. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  balance: [
    '/balance',
    '/overview',
    '/ledger',
    '/usage',
    '/requests',
    '/activity',
    '/keys',
    '/members',
    '/bonuses',
  ],
  payments: ['/payments', '/auto-top-up', '/balance', '/ledger', '/overview'],
  keys: ['/keys', '/overview'],
}

/** Everything that hints cover: read after a `resync`, and polled while no stream is heard. */
const all = [...new Set(Object.values(changedBy).flat())]

const pollMs = 5_000
const reconnectMs = 30_000
/** Until the tab's organization is known. */
const reconnectUnnamedMs = 1_000
/** The server sends an event at least every 15 s, `alive` if there is nothing else. */
const silentMs = 35_000
/** Long enough for the response that sets the new session to arrive as well. */
const endedMs = 500

/** Before anything was read, by the server's clock or by the browser's; `undefined` once a stream has begun. */
let firstReadMs: number | undefined = Math.floor(serverNowMs())

/**
 * Keeps the page current: by the server's hints, and by polling every 5 s while no stream is heard. The browser
 * reconnects a broken stream after 2 s; this reconnects a silent one after 35 s. A hidden page holds no stream: over
 * HTTP/1.1 a browser has six connections for all its tabs.
 */
export function useLive(): void {
  useEffect(() => {
    let stop: (() => void) | undefined
    const follow = () => {
      if (document.hidden) {
        stop?.()
        stop = undefined
      } else stop ??= startLive() // the `resync` that begins a stream reads what was missed
    }
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      stop?.()
    }
  }, [])
}

/** @returns a function that ends it. */
function startLive(): () => void {
  let polling: ReturnType<typeof setInterval> | undefined
  let reconnecting: ReturnType<typeof setTimeout> | undefined
  let source: EventSource | undefined
  let isLeft = false
  // Only the first stream of a page begins before its data is read.
  let beganMs = firstReadMs
  firstReadMs = undefined
  // Data being read may be older than the hint, so it is read once more.
  const rounds = startLiveRounds((paths) => rounds.ask(readLiveAgain(paths)))

  /** Called at every reconnection, thus every 2 s: polling that has begun continues. */
  function poll(isNeeded: boolean): void {
    if (isNeeded === (polling !== undefined)) return
    clearInterval(polling)
    polling = isNeeded ? setInterval(() => rounds.ask(all), pollMs) : undefined
  }

  function connectIn(ms: number): void {
    clearTimeout(reconnecting)
    reconnecting = setTimeout(connect, ms)
  }

  function connect(): void {
    source?.close()
    const isNamed = organizationOfTab() !== undefined
    source = new EventSource(namingOrganization(addressOf('/events', { query: { since_ms: beganMs } })))
    beganMs = undefined
    poll(true) // an open stream proves nothing yet: a proxy may hold its data back
    connectIn(silentMs)
    source.onerror = () => {
      poll(true)
      if (source?.readyState === EventSource.CLOSED) connectIn(isNamed ? reconnectMs : reconnectUnnamedMs)
    }
    const hear = (kind: string, paths: readonly string[]) =>
      source?.addEventListener(kind, () => {
        poll(false)
        connectIn(silentMs)
        rounds.ask(paths)
      })
    hear('alive', [])
    hear('resync', all)
    for (const [kind, paths] of Object.entries(changedBy)) hear(kind, paths)
    source.addEventListener('ended', () => {
      source?.close()
      poll(true)
      clearTimeout(reconnecting)
      reconnecting = setTimeout(() => void goOnOrLeave(), endedMs)
    })
  }

  /**
   * A session may continue under another id, for example after turning on a second factor: only the old session's
   * stream ended. Or only a membership did: the frame shows it.
   */
  async function goOnOrLeave(): Promise<void> {
    const problem = await call('GET /me').then(() => undefined, asProblem)
    if (isLeft) return
    if (problem?.code === 'unauthenticated') goToLogin()
    else {
      void queryClient.invalidateQueries({ queryKey: ['/me'] })
      connect()
    }
  }

  connect()
  return () => {
    isLeft = true
    source?.close()
    clearInterval(polling)
    clearTimeout(reconnecting)
    rounds.stop()
  }
}

/**
 * Reads what is shown again, except for lists of several pages: those wait until the user comes back to them.
 * @returns the paths that were being read already; these reads continue.
 */
function readLiveAgain(beginnings: readonly string[]): readonly string[] {
  const queries = queryClient.getQueryCache().findAll({ predicate: (query) => isBelow(query, beginnings) })
  const begun = queries.filter(({ state }) => state.fetchStatus === 'fetching').map(pathOf)
  void queryClient.invalidateQueries(
    { predicate: (query) => isBelow(query, beginnings) && !isLong(query) },
    { cancelRefetch: false },
  )
  void queryClient.invalidateQueries({
    predicate: (query) => isBelow(query, beginnings) && isLong(query),
    refetchType: 'none',
  })
  return begun
}

const pathOf = ({ queryKey: [path] }: Query): string => String(path)

function isBelow(query: Query, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => pathOf(query).startsWith(beginning))
}

/** Of several pages: each would be a separate call. */
function isLong({ state: { data } }: Query): boolean {
  return (
    typeof data === 'object' &&
    data !== null &&
    'pages' in data &&
    Array.isArray(data.pages) &&
    data.pages.length > 1
  )
}
