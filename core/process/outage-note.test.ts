import { expect, test } from 'vitest'
import { createNoteOutage } from './outage-note.ts'

test('an outage is one warning and one line at its end, however many signs of it come', () => {
  const lines: string[] = []
  const logAt = (level: string) => (_facts: unknown, words?: string) => void lines.push(`${level} ${words}`)
  const log = { warn: logAt('warn'), info: logAt('info'), debug: logAt('debug') }
  const note = createNoteOutage(log, { away: 'away', back: 'back' })
  for (const state of [
    'answers',
    'is unavailable',
    'is unavailable',
    'answers',
    'answers',
    'is unavailable',
  ] as const)
    note(state, {})
  expect(lines).toEqual(['warn away', 'debug away', 'info back', 'warn away'])
})
