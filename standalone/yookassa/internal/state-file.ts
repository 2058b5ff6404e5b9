import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { RememberedAnswer } from './idempotence.ts'
import type { Notification } from './notifier.ts'
import type { Payment, Refund } from './payment.ts'

/** One change, as a line of JSON. The last change of an object counts. */
export type Entry =
  | { readonly payment: Payment }
  | { readonly refund: Refund }
  | { readonly answer: RememberedAnswer }
  | { readonly notification: Notification }

export type StateFile = {
  /** Entries of earlier runs, in order. */
  readonly entries: readonly Entry[]
  append(entry: Entry): void
}

/** Entries kept when the file is rewritten. */
const entriesMax = 60_000
/** Lines at which it is rewritten. */
const linesMax = 2 * entriesMax

/**
 * Opens a file that only test payment providers write, and removes outdated lines.
 * @param path undefined: nothing is stored
 */
export function openStateFile(path: string | undefined): StateFile {
  if (path === undefined) return { entries: [], append: () => undefined }
  const entries = rewrite(path)
  let lines = entries.length
  return {
    entries,
    append(entry) {
      appendFileSync(path, lineOf(entry), { mode: 0o600 })
      lines += 1
      if (lines > linesMax) lines = rewrite(path).length
    },
  }
}

function rewrite(path: string): readonly Entry[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const entries = lastOfEach(lines.flatMap(entryOf)).slice(-entriesMax)
  writeFileSync(`${path}.new`, entries.map(lineOf).join(''), { mode: 0o600 })
  renameSync(`${path}.new`, path)
  return entries
}

function lineOf(entry: Entry): string {
  return `${JSON.stringify(entry)}\n`
}

/** Nothing for the incomplete last line of a killed process. */
function entryOf(line: string): Entry[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

function lastOfEach(entries: readonly Entry[]): Entry[] {
  const last = new Map<string, Entry>()
  for (const entry of entries) last.set(nameOf(entry), entry)
  return [...last.values()]
}

function nameOf(entry: Entry): string {
  if ('payment' in entry) return `payment ${entry.payment.id}`
  if ('refund' in entry) return `refund ${entry.refund.id}`
  if ('answer' in entry) return `answer ${entry.answer.key}`
  return `notification ${entry.notification.id}`
}
