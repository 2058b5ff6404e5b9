import type { CsvRows } from '../../../api/endpoint.ts'

/** So that Excel reads it as UTF-8. */
const byteOrderMark = '\u{feff}'

/** Rows as RFC 4180 writes them, in pieces as they come. A cell that a spreadsheet would take for a formula is defused. */
export async function* csvText(rows: CsvRows): AsyncGenerator<string> {
  yield byteOrderMark
  for await (const row of rows) yield `${row.map(cellOf).join(',')}\r\n`
}

function cellOf(value: string | number | null): string {
  if (value === null) return ''
  const text = typeof value === 'string' && isFormula(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A minus alone is no formula before a decimal, and one before anything longer. Excel takes the full-width signs for the others. */
function isFormula(text: string): boolean {
  return /^[=+@\t\r\n\uFF1D\uFF0B\uFF20\uFF0D]|^-(?!\d+(?:\.\d+)?$)/.test(text)
}
