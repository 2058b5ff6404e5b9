import { defaultTimeZone } from '../kit/date-time.tsx'
import { useRead } from './queries.ts'

/** That of the organization's days, in which its times are shown. */
export function useTimeZone(): string {
  return useRead('/organization').data?.time_zone ?? defaultTimeZone
}
