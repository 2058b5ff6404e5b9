import { z } from 'zod'
import { findJson } from '#core/process/json'
import { askedTime } from './fields.ts'

const pageSizeDefault = 50
const pageSizeMax = 200

/** Number of rows on a page. */
export const pageLimit = z.coerce.number().int().min(1).max(pageSizeMax).default(pageSizeDefault)

/** A page of rows, and the cursor of the next page; `null` on the last page. */
export function pageOf<Row extends z.ZodType>(row: Row) {
  return z.object({ data: z.array(row), next_cursor: z.string().nullable() })
}

/**
 * The position at which a page begins, written by `writeCursor`. It is validated, because any client can forge a
 * cursor.
 */
export function cursorOf<Position extends z.ZodType>(position: Position) {
  return z
    .string()
    .max(512)
    .transform((text, context): z.output<Position> => {
      const read = position.safeParse(findJson(Buffer.from(text, 'base64url').toString()))
      if (read.success) return read.data
      context.addIssue({ code: 'custom', message: 'is not a cursor of this list' })
      return z.NEVER
    })
    .optional()
}

/** For lists ordered by time, newest first: the row's time, with microseconds, and its ID. */
export const newestFirstCursor = cursorOf(z.tuple([askedTime({ precision: 6 }), z.uuid()]))

/** Opaque to clients. Contains a row's position in the list. */
export function writeCursor(position: unknown): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/**
 * A page from rows read with a limit of one more than requested. The extra row shows that there is another page.
 *
 * @param positionOf returns the position of a row in the list.
 */
export function toPage<Row, Shown>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
  positionOf: (row: Row) => unknown,
): { data: Shown[]; next_cursor: string | null } {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return { data: page.map(show), next_cursor: last === undefined ? null : writeCursor(positionOf(last)) }
}
