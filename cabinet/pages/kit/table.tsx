import { type ReactNode, useState } from 'react'
import { classNames } from './class-names.ts'
import { inOrder, type Order } from './row-order.ts'
import { HeadCell, OrderField } from './table-order.tsx'

export type Column<Row> = {
  /** Stable, for React. */
  readonly id: string
  readonly head: string
  /** `null`: no value, shown as a dash. An empty text: not applicable. A card has no line for either. */
  readonly cell: (row: Row) => ReactNode
  /** Numbers and sums: right-aligned with tabular digits, so that decimal points align. */
  readonly isNumber?: boolean
  /** The ascending order of its values: users may sort by it. */
  readonly compare?: (one: Row, other: Row) => number
  /** The line of the row on narrow screens, where each row has two; `null`: omitted there. If no column names one, rows become cards. */
  readonly line?: 1 | 2 | null
}

/** The group of a row, such as its day; its heading is shown once, above the first row. */
export type RowGroup = { readonly id: string; readonly heading: ReactNode }

/**
 * A table whose rows become cards on narrow screens; each cell of a card has its column's label. Or they become two lines
 * without labels, for long lists. The first column names the row.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  groupOf,
  isSortable = false,
  isDense = false,
  rowsMax,
}: {
  /** What the table shows, for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Rows of one group follow each other. */
  readonly groupOf?: (row: Row) => RowGroup
  /** Whether users may sort by columns that compare: only where `rows` are all there are. */
  readonly isSortable?: boolean
  /** As many rows on a screen as can be read. */
  readonly isDense?: boolean
  /** Only the first ones are shown, in the order that the user chose. */
  readonly rowsMax?: number
}) {
  const [order, setOrder] = useState<Order>()
  const isBrief = columns.some(({ line }) => line !== undefined)
  const sorted = isSortable ? inOrder(rows, columns, order) : rows
  const shown = sorted.slice(0, rowsMax)
  return (
    <div className="@container overflow-x-auto">
      {isSortable && rows.length > 1 && <OrderField columns={columns} order={order} onChange={setOrder} />}
      <table className="w-full border-collapse text-sm @max-3xl:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="@max-3xl:sr-only">
          <tr className="border-b border-line text-muted">
            {columns.map((column) => (
              <HeadCell
                key={column.id}
                column={column}
                order={order}
                isDense={isDense}
                {...(isSortable && { onOrder: setOrder })}
              />
            ))}
          </tr>
        </thead>
        {groupsOf(shown, order === undefined ? groupOf : undefined).map(({ group, rows: own }) => (
          <tbody key={group?.id ?? ''} className="@max-3xl:block">
            {group !== undefined && <GroupHeading heading={group.heading} columnCount={columns.length} />}
            {own.map((row) => (
              <tr
                key={keyOf(row)}
                className={classNames(
                  'border-b border-line hover:bg-hover in-[tbody:last-child]:last:border-b-0 @max-3xl:px-5',
                  isBrief ? briefRow : '@max-3xl:block @max-3xl:py-3',
                )}
              >
                {columns.map((column, index) => (
                  <Cell
                    key={column.id}
                    column={column}
                    row={row}
                    isName={index === 0}
                    isDense={isDense}
                    brief={briefOf(column, columns)}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  )
}

/** Rows with their groups; without groups, one of all rows. Pure. */
function groupsOf<Row>(rows: readonly Row[], groupOf: ((row: Row) => RowGroup) | undefined) {
  const groups: { readonly group: RowGroup | undefined; readonly rows: Row[] }[] = []
  for (const row of rows) {
    const group = groupOf?.(row)
    const last = groups.at(-1)
    if (last !== undefined && last.group?.id === group?.id) last.rows.push(row)
    else groups.push({ group, rows: [row] })
  }
  return groups
}

/** Two lines: the empty box between them takes the rest of the first. */
const briefRow =
  "@max-3xl:flex @max-3xl:flex-wrap @max-3xl:items-baseline @max-3xl:gap-x-3 @max-3xl:py-2 @max-3xl:before:order-1 @max-3xl:before:basis-full @max-3xl:before:content-['']"

function GroupHeading({
  heading,
  columnCount,
}: {
  readonly heading: ReactNode
  readonly columnCount: number
}) {
  return (
    <tr className="border-b border-line bg-sunken @max-3xl:block">
      <th scope="rowgroup" colSpan={columnCount} className="px-5 py-2 text-start font-medium @max-3xl:block">
        {heading}
      </th>
    </tr>
  )
}

function Cell<Row>({
  column: { head, cell, isNumber },
  row,
  isName,
  isDense,
  brief,
}: {
  readonly column: Column<Row>
  readonly row: Row
  readonly isName: boolean
  readonly isDense: boolean
  /** How it looks in a row of two lines; `undefined`: in a card. */
  readonly brief: string | undefined
}) {
  const given = cell(row)
  const isGiven = given !== null && given !== ''
  const looks = classNames(
    !isGiven && '@max-3xl:hidden',
    'px-3 first:ps-5 last:pe-5 @max-3xl:p-0 @max-3xl:first:ps-0 @max-3xl:last:pe-0',
    isDense ? 'py-0.5 align-middle' : 'py-3 align-top',
    brief ?? '@max-3xl:justify-between @max-3xl:gap-4 @max-3xl:py-0.5',
    brief === undefined && isGiven && '@max-3xl:flex',
    isNumber && 'text-end whitespace-nowrap',
  )
  const content = (
    <>
      <span
        aria-hidden="true"
        className={classNames(
          'whitespace-normal text-muted @3xl:hidden',
          // A long value would leave it too little, and lie over it.
          isNumber ? 'min-w-0' : 'max-w-1/2 shrink-0',
          (isName || brief !== undefined) && '@max-3xl:hidden',
        )}
      >
        {head}
      </span>
      <span
        className={classNames(
          isNumber ? 'shrink-0' : 'min-w-0 break-words',
          !isName && brief === undefined && '@max-3xl:text-end',
        )}
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

/** The first text of a line and its sum are whole; the text between them is cut off. */
function briefOf<Row>(column: Column<Row>, columns: readonly Column<Row>[]): string | undefined {
  if (columns.every(({ line }) => line === undefined)) return undefined
  if (column.line === null || column.line === undefined) return '@max-3xl:hidden'
  const isFirst = columns.find(({ line }) => line === column.line) === column
  return classNames(
    column.line === 2 && '@max-3xl:order-2 @max-3xl:text-xs @max-3xl:text-muted',
    column.isNumber && '@max-3xl:ms-auto',
    !column.isNumber && !isFirst && '@max-3xl:min-w-0 @max-3xl:flex-1 @max-3xl:basis-0 @max-3xl:truncate',
  )
}
