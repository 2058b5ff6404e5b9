import type { CsvRows } from '../../../api/endpoint.ts'

/** Makes Excel read the file as UTF-8. */
const byteOrderMark = '\u{feff}'

/** Rows in RFC 4180 format, in parts as they arrive. Cells that a spreadsheet would take for a formula are escaped. */
export async function* csvText(rows: CsvRows): AsyncGenerator<string> {
  yield byteOrderMark
  for await (const row of rows) yield `${row.map(cellOf).join(',')}\r\n`
}

function cellOf(value: string | number | null): string {
  if (value === null) return ''
  const text = typeof value === 'string' && isFormula(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * A single minus is no formula before a decimal, but is one before longer text. Excel treats full-width signs like the
 * others.
 */
function isFormula(text: string): boolean {
  return /^[=+@\t\r\n\uFF1D\uFF0B\uFF20\uFF0D]|^-(?!\d+(?:\.\d+)?$)/.test(text)
}
