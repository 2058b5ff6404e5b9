import type { Query } from '@tanstack/react-query'
import { useEffect } from 'react'
import { goToLogin } from '../app/sign-in-again.ts'
import { call } from './call.ts'
import { startLiveRounds } from './live-rounds.ts'
import { asProblem } from './problem.ts'
import { queryClient } from './query-client.ts'

/** Which endpoints answer something new, by the beginning of their path, when the server hints at a change. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  balance: ['/balance', '/overview', '/ledger', '/usage', '/requests', '/keys', '/bonuses'],
  payments: ['/payments', '/balance', '/ledger', '/overview'],
  keys: ['/keys', '/overview'],
}

/** For everything that lives, when nothing is hinted: the stream is broken, or was. */
const all = [...new Set(Object.values(changedBy).flat())]

const pollMs = 5_000
const reconnectMs = 30_000
/** The server says something every 15 s, be it that it is there. */
const silentMs = 35_000
/** Until the answer that tells of another session has come as well. */
const endedMs = 500

/**
 * Keeps what is shown up to date: by the server's hints, and by asking every 5 s while no stream is heard. One that was cut
 * is taken up again by the browser after 2 s; one that is silent, whatever holds it back, after 35 s. A page that nobody sees
 * holds none, of which a browser over HTTP/1.1 has six for all its tabs.
 */
export function useLive(): void {
  useEffect(() => {
    let stop: (() => void) | undefined
    const follow = () => {
      if (document.hidden) {
        stop?.()
        stop = undefined
      } else stop ??= startLive() // what was missed is read after the `resync` that begins a stream
    }
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      stop?.()
    }
  }, [])
}

/** @returns what ends it. */
function startLive(): () => void {
  let polling: ReturnType<typeof setInterval> | undefined
  let reconnecting: ReturnType<typeof setTimeout> | undefined
  let source: EventSource | undefined
  let isLeft = false
  // What is being read may be older than the hint, so it is read once more.
  const rounds = startLiveRounds((paths) => rounds.ask(readLiveAgain(paths)))

  /** A browser that reconnects every 2 s says so each time: what is under way goes on. */
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
    source = new EventSource('/api/v1/events')
    poll(true) // that it opens says nothing yet: a proxy may keep what it is told
    connectIn(silentMs)
    source.onerror = () => {
      poll(true)
      if (source?.readyState === EventSource.CLOSED) connectIn(reconnectMs)
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

  /** A session may go on with another id, as when a second factor is turned on: only the stream of the old one ended. */
  async function goOnOrLeave(): Promise<void> {
    const problem = await call('GET /me').then(() => undefined, asProblem)
    if (isLeft) return
    if (problem?.code === 'unauthenticated') goToLogin()
    else connect()
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
 * Has what is shown read again, but for lists of several pages: those wait until somebody comes back to them.
 * @returns the paths of what was being read already, which goes on.
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

/** Of several pages: each would be a call. */
function isLong({ state: { data } }: Query): boolean {
  return (
    typeof data === 'object' &&
    data !== null &&
    'pages' in data &&
    Array.isArray(data.pages) &&
    data.pages.length > 1
  )
}
