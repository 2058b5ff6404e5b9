import type { Log } from '#cabinet/process/log'

/** Hears each sign of how something outside is. */
export type NoteOutage = (state: 'answers' | 'is away', facts: object) => void

/**
 * Warns once for each outage, at its first sign, and says when it is over. Of further signs there may be many a second,
 * some of them anybody's to make: they are logged at `debug`.
 */
export function createNoteOutage(
  log: Pick<Log, 'warn' | 'info' | 'debug'>,
  words: { readonly away: string; readonly back: string },
): NoteOutage {
  let last: 'answers' | 'is away' = 'answers'
  return (state, facts) => {
    const isNews = state !== last
    last = state
    if (state === 'is away') log[isNews ? 'warn' : 'debug'](facts, words.away)
    else if (isNews) log.info(facts, words.back)
  }
}
