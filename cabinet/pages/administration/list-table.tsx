import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { rowsOf } from '../api/queries.ts'
import { EmptyState, Loaded, LoadMore } from '../kit/loaded.tsx'
import { SkeletonRows } from '../kit/skeleton.tsx'
import { type Column, Table } from '../kit/table.tsx'

/** A list that is read page by page, as a table with a button for the next page. */
export function ListTable<Row>({
  list,
  expectedCount,
  empty,
  ...table
}: {
  readonly list: UseInfiniteQueryResult<{ readonly pages: readonly { readonly data: readonly Row[] }[] }>
  /** Rows to draw while it loads. */
  readonly expectedCount: number
  /** Shown instead of a table without rows. */
  readonly empty: string
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
}) {
  return (
    <>
      <Loaded query={list} skeleton={<SkeletonRows count={expectedCount} />}>
        {() => {
          const rows = rowsOf(list)
          return rows.length === 0 ? <EmptyState text={empty} /> : <Table {...table} rows={rows} />
        }}
      </Loaded>
      <LoadMore list={list} />
    </>
  )
}
