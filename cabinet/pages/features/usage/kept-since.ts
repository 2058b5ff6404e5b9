import { dayOf, isDay } from '../../time/days.ts'

/**
 * Whether rejections of a list may be missing, because those before `since` are not kept. Of the day of `since` only the end
 * is. Pure.
 *
 * @param from a day, or an instant of the same form as `since`.
 */
export function isCut(from: string, since: string, timeZone: string): boolean {
  return isDay(from) ? from <= dayOf(since, timeZone) : from < since
}
