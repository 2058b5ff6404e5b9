import type { Throttle } from '../../api/contract.ts'
import type { CsvRows } from '../../api/endpoint.ts'

/** An export may read everything that an organization has. */
export const exportThrottle: Throttle = { perAddress: 30 }

/** Rows that are read and kept at once for an export. */
export const exportBatch = 1_000

/** A piece of a list, and where the next one begins; `undefined`: it was the last. */
export type Piece<Row, Position> = { readonly rows: readonly Row[]; readonly next: Position | undefined }

/**
 * Lines of CSV from a list that is read piece by piece: one piece is kept at a time, and no transaction is open while the
 * client reads it. The first piece is read at once, so that an outage is still an answer of its own.
 *
 * @throws what `read` throws for the first piece; a later one breaks the connection off, so that nobody takes a part for
 *   the whole.
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
