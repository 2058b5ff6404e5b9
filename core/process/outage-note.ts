import type { Log } from './log.ts'

/** Reports each sign of whether something outside answers. */
export type NoteOutage = (state: 'answers' | 'is unavailable', facts: object) => void

/**
 * Warns once per outage, at its first sign, and reports when it is over. Further signs may come many times a
 * second, and any client may cause some of them, so they are logged at `debug`.
 */
export function createNoteOutage(
  log: Pick<Log, 'warn' | 'info' | 'debug'>,
  words: { readonly away: string; readonly back: string },
): NoteOutage {
  let last: 'answers' | 'is unavailable' = 'answers'
  return (state, facts) => {
    const isNews = state !== last
    last = state
    if (state === 'is unavailable') log[isNews ? 'warn' : 'debug'](facts, words.away)
    else if (isNews) log.info(facts, words.back)
  }
}
