/** The column by which rows are sorted. */
export type Order = { readonly column: string; readonly isDescending: boolean }

/** What sorting needs of a column. */
export type Sortable<Row> = {
  readonly id: string
  readonly isNumber?: boolean
  readonly compare?: (one: Row, other: Row) => number
}

/** The rows in an order; as given without one. Equal rows keep their order. Pure. */
export function inOrder<Row>(
  rows: readonly Row[],
  columns: readonly Sortable<Row>[],
  order: Order | undefined,
): readonly Row[] {
  const compare = columns.find(({ id }) => id === order?.column)?.compare
  if (compare === undefined) return rows
  return rows.toSorted((one, other) => (order?.isDescending ? compare(other, one) : compare(one, other)))
}

/** The order after a click on a column: numbers descend first; the third click restores the given order. Pure. */
export function nextOrder<Row>(
  { id, isNumber = false }: Sortable<Row>,
  order: Order | undefined,
): Order | undefined {
  if (order?.column !== id) return { column: id, isDescending: isNumber }
  return order.isDescending === isNumber ? { column: id, isDescending: !isNumber } : undefined
}
