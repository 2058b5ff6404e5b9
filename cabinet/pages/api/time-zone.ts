import { defaultTimeZone } from '../time/days.ts'
import { useRead } from './queries.ts'

/** The time zone of the organization's days, in which its times are shown. */
export function useTimeZone(): string {
  return useRead('/organization').data?.time_zone ?? defaultTimeZone
}
