import { z } from 'zod'
import { findJson } from '../process/json.ts'
import { askedTime } from './fields.ts'

const pageSizeDefault = 50
const pageSizeMax = 200

/** How many rows a page has. */
export const pageLimit = z.coerce.number().int().min(1).max(pageSizeMax).default(pageSizeDefault)

/** A page of rows, and where the next one begins; `null`: this was the last. */
export function pageOf<Row extends z.ZodType>(row: Row) {
  return z.object({ data: z.array(row), next_cursor: z.string().nullable() })
}

/** Where a page begins: what `writeCursor` wrote, checked again, for anybody can write one. */
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

/** Of a list by time, newest first: the time of a row, with its microseconds, and its id. */
export const newestFirstCursor = cursorOf(z.tuple([askedTime({ precision: 6 }), z.uuid()]))

/** Opaque to callers; what it holds is a row's place in the order of its list. */
export function writeCursor(position: unknown): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/**
 * A page from rows that were read with a limit of one more than asked for, which tells whether there is another page.
 *
 * @param positionOf the place of a row in the order of the list.
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
