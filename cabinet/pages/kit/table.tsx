import type { ReactNode } from 'react'
import { classNames } from './class-names.ts'

export type Column<Row> = {
  /** Stable, for React. */
  readonly id: string
  readonly head: string
  /** `null`: no value, shown as a dash. An empty text: not applicable. A card has no line for either. */
  readonly cell: (row: Row) => ReactNode
  /** Numbers and sums: right-aligned with tabular digits, so that decimal points align. */
  readonly isNumber?: boolean
}

/**
 * A table whose rows become cards on narrow screens; each cell of a card has its column's label. The first column names
 * the row.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  /** What the table shows, for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}) {
  return (
    <div className="@container overflow-x-auto">
      <table className="w-full border-collapse text-sm @max-3xl:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="@max-3xl:sr-only">
          <tr className="border-b border-line text-muted">
            {columns.map(({ id, head, isNumber }) => (
              <th
                key={id}
                scope="col"
                className={classNames(
                  'px-3 py-2 font-medium first:ps-5 last:pe-5',
                  isNumber ? 'text-end' : 'text-start',
                )}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="@max-3xl:block">
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              className="border-b border-line last:border-b-0 hover:bg-hover @max-3xl:block @max-3xl:px-5 @max-3xl:py-3"
            >
              {columns.map((column, index) => (
                <Cell key={column.id} column={column} row={row} isName={index === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Cell<Row>({
  column: { head, cell, isNumber },
  row,
  isName,
}: {
  readonly column: Column<Row>
  readonly row: Row
  readonly isName: boolean
}) {
  const given = cell(row)
  const isGiven = given !== null && given !== ''
  const looks = classNames(
    !isGiven && '@max-3xl:hidden',
    'px-3 py-3 align-top first:ps-5 last:pe-5 @max-3xl:justify-between @max-3xl:gap-4 @max-3xl:p-0 @max-3xl:py-0.5 @max-3xl:first:ps-0 @max-3xl:last:pe-0',
    isGiven && '@max-3xl:flex',
    isNumber && 'text-end whitespace-nowrap',
  )
  const content = (
    <>
      <span
        aria-hidden="true"
        className={classNames(
          'min-w-0 whitespace-normal text-muted @3xl:hidden',
          isName && '@max-3xl:hidden',
        )}
      >
        {head}
      </span>
      <span
        className={classNames(isNumber ? 'shrink-0' : 'min-w-0 break-words', !isName && '@max-3xl:text-end')}
      >
        {given ?? <span className="text-muted">—</span>}
      </span>
    </>
  )
  return isName ? (
    <th scope="row" className={classNames(looks, 'text-start font-medium')}>
      {content}
    </th>
  ) : (
    <td className={looks}>{content}</td>
  )
}
