import type { Throttle } from './contract.ts'
import type { CsvRows } from './endpoint.ts'

/** An export may read all rows of an organization. */
export const exportThrottle: Throttle = { perAddress: 30 }

/** Rows that an export reads and keeps at once. */
export const exportBatch = 1_000

/** A part of a list, and the position of the next part; `undefined` for the last part. */
export type Piece<Row, Position> = { readonly rows: readonly Row[]; readonly next: Position | undefined }

/**
 * Lines of CSV from a list that is read in parts. Only one part is kept at a time, and no transaction is open while
 * the client reads it. The first part is read immediately, so that an outage still gets an error response.
 *
 * @throws what `read` throws for the first part. A later error aborts the connection, so that clients do not mistake a
 * part for the whole.
 */
export async function csvRows<Row, Position>(
  head: readonly string[],
  cells: (row: Row) => readonly (string | number | null)[],
  read: (position: Position | undefined) => Promise<Piece<Row, Position>>,
): Promise<CsvRows> {
  const first = await read(undefined)
  return (async function* () {
    yield head
    for (let piece = first; ; piece = await read(piece.next)) {
      for (const row of piece.rows) yield cells(row)
      if (piece.next === undefined) return
    }
  })()
}
