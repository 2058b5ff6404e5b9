/** A page of a list, newest first. */
type PageOptions = { readonly limit: number; readonly cursor?: string | undefined }

type Times = Readonly<Record<'gte' | 'gt' | 'lte' | 'lt', number | undefined>>

/** The items that pass the filters, starting at the cursor; undefined: the cursor is not in the list. */
export function pageOf<T extends { readonly id: string }>(
  newestFirst: readonly T[],
  passes: (item: T) => boolean,
  { limit, cursor }: PageOptions,
): { readonly items: readonly T[]; readonly next: string | undefined } | undefined {
  const start = cursor === undefined ? 0 : newestFirst.findIndex(({ id }) => id === cursor)
  if (start === -1) return undefined
  const found = newestFirst.slice(start).filter(passes)
  return { items: found.slice(0, limit), next: found[limit]?.id }
}

/** The limits of a query on `created_at` or `captured_at`. */
export function timesOf(query: Readonly<Record<string, unknown>>, field: string): Times {
  const limitOf = (name: string) => {
    const value = query[`${field}.${name}`]
    return typeof value === 'number' ? value : undefined
  }
  return { gte: limitOf('gte'), gt: limitOf('gt'), lte: limitOf('lte'), lt: limitOf('lt') }
}

/** Whether a time is within limits. An undefined time never is. */
export function isWithin(ms: number | undefined, { gte, gt, lte, lt }: Times): boolean {
  if (ms === undefined) return [gte, gt, lte, lt].every((limit) => limit === undefined)
  return (
    ms >= (gte ?? ms) &&
    ms > (gt ?? Number.NEGATIVE_INFINITY) &&
    ms <= (lte ?? ms) &&
    ms < (lt ?? Number.POSITIVE_INFINITY)
  )
}
