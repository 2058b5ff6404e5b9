import { useEffect } from 'react'
import { defaultTimeZone } from '../kit/date-time.tsx'
import { findDayEndMs } from '../kit/days.ts'
import { readAgain, useRead } from './queries.ts'
import { serverNowMs } from './server-clock.ts'

/** A computer that slept has not counted meanwhile, so the clock is looked at again. */
const lookMs = 60_000
/** Not every page that is open asks in the same instant. */
const spreadMs = 5_000

/**
 * Has read again what counts by days once one ends: that of the organization, or that of Moscow, by which budgets go. A page
 * that nobody sees asks nothing, and reads everything once it is seen.
 */
export function useDayEnd(): void {
  const timeZone = useRead('/organization').data?.time_zone // its answer also tells the server's time
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
        if (!document.hidden) void readAgain('/overview', '/usage', '/keys')
      }
      timer = lookAgain()
    }

    return () => clearTimeout(timer)
  }, [timeZone])
}

const findEndMs = (timeZone: string): number =>
  Math.min(findDayEndMs(serverNowMs(), timeZone), findDayEndMs(serverNowMs(), defaultTimeZone))
