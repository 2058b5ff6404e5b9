import { useEffect } from 'react'
import { defaultTimeZone, findDayEndMs } from '../time/days.ts'
import { readAgain, useRead } from './queries.ts'
import { serverNowMs } from './server-clock.ts'

/** Timers do not run while a computer sleeps, so the clock is checked repeatedly. */
const lookMs = 60_000
/** Spreads the calls of all open pages. */
const spreadMs = 5_000

/**
 * Reads data that is counted by day again when a day ends: the organization's day, or the Moscow day that budgets use.
 * A hidden page calls nothing; it reads everything when it becomes visible.
 */
export function useDayEnd(): void {
  const timeZone = useRead('/organization').data?.time_zone // the response also carries the server's time
  useEffect(() => {
    if (timeZone === undefined) return
    const spread = Math.random() * spreadMs
    let endMs = findEndMs(timeZone)
    let timer = lookAgain()

    function lookAgain() {
      const leftMs = endMs + spread - serverNowMs()
      return setTimeout(look, Math.min(Math.max(leftMs, 0), lookMs))
    }

    function look(): void {
      if (serverNowMs() >= endMs + spread) {
        endMs = findEndMs(timeZone ?? defaultTimeZone)
        if (!document.hidden)
          void readAgain('/overview', '/spending', '/usage', '/activity', '/keys', '/members')
      }
      timer = lookAgain()
    }

    return () => clearTimeout(timer)
  }, [timeZone])
}

const findEndMs = (timeZone: string): number =>
  Math.min(findDayEndMs(serverNowMs(), timeZone), findDayEndMs(serverNowMs(), defaultTimeZone))
