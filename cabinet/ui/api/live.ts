import { useEffect } from 'react'
import { goToLogin } from '../app/sign-in-again.ts'
import { call } from './call.ts'
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
/** Until the answer that tells of another session has come as well. */
const endedMs = 500

/** Keeps what is shown up to date: by the server's hints, and by asking every 5 s while there are none. */
export function useLive(): void {
  useEffect(() => {
    let polling: ReturnType<typeof setInterval> | undefined
    let reconnecting: ReturnType<typeof setTimeout> | undefined
    let source: EventSource | undefined
    let isLeft = false

    /** A browser that reconnects every 2 s says so each time: what is under way goes on. */
    function poll(isNeeded: boolean): void {
      if (isNeeded === (polling !== undefined)) return
      clearInterval(polling)
      polling = isNeeded ? setInterval(() => readLiveAgain(all), pollMs) : undefined
    }

    function connect(): void {
      source = new EventSource('/api/v1/events')
      source.onopen = () => poll(false)
      source.onerror = () => {
        poll(true)
        if (source?.readyState === EventSource.CLOSED) reconnecting = setTimeout(connect, reconnectMs)
      }
      source.addEventListener('resync', () => readLiveAgain(all))
      for (const [kind, paths] of Object.entries(changedBy))
        source.addEventListener(kind, () => readLiveAgain(paths))
      source.addEventListener('ended', () => {
        source?.close()
        poll(true)
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
    }
  }, [])
}

function readLiveAgain(beginnings: readonly string[]): void {
  void queryClient.invalidateQueries({
    predicate: ({ queryKey: [path] }) => beginnings.some((beginning) => String(path).startsWith(beginning)),
  })
}
