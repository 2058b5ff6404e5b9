import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { durationTable, readDurations } from './durations.ts'

const file = join(import.meta.dirname, '../../docs/contribute/testing.md')
const [begin, end] = ['<!-- durations -->', '<!-- /durations -->']
const rowsMax = 25

// The table of the document becomes what the last runs on this machine took.
const text = readFileSync(file, 'utf8')
const [before = '', rest = ''] = text.split(begin)
const [, after = ''] = rest.split(end)
writeFileSync(file, `${before}${begin}\n\n${durationTable(readDurations(), rowsMax)}\n\n${end}${after}`)
