import {
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query'
import { call, callVersioned, type Versioned } from './call.ts'
import type { Answer, Input, ListPath, ReadPath } from './calls.ts'
import { queryClient } from './query-client.ts'

type Reading<Path extends ReadPath> = Omit<Input<`GET ${Path}`>, 'signal'>
type Readings<Path extends ReadPath> =
  Record<never, never> extends Reading<Path>
    ? [input?: Reading<Path>, options?: Options]
    : [input: Reading<Path>, options?: Options]

type Options = {
  /** Not asked while this is false. */
  readonly enabled?: boolean
  /** Asked again so often, in ms; besides, whenever `useLive` hears of a change. */
  readonly refetchInterval?: number | false
}

/**
 * Reads an endpoint: `useRead('/keys/:key_id', { params: { key_id } })`. What was read before stays while new data load,
 * also those of other filters.
 */
export function useRead<Path extends ReadPath>(
  path: Path,
  ...[input, options]: Readings<Path>
): UseQueryResult<Answer<`GET ${Path}`>> {
  return useQuery({
    queryKey: [path, input ?? {}],
    queryFn: ({ signal }) =>
      call(`GET ${path}` as never, { ...input, signal } as never) as Promise<Answer<`GET ${Path}`>>,
    placeholderData: keepPreviousData as never,
    ...options,
  })
}

/** The same with its version, which a change of it needs as `ifMatch`. */
export function useReadVersioned<Path extends ReadPath>(
  path: Path,
  ...[input, options]: Readings<Path>
): UseQueryResult<Versioned<Answer<`GET ${Path}`>>> {
  return useQuery({
    queryKey: [path, input ?? {}, 'versioned'],
    queryFn: ({ signal }) =>
      callVersioned(`GET ${path}` as never, { ...input, signal } as never) as Promise<
        Versioned<Answer<`GET ${Path}`>>
      >,
    ...options,
  })
}

/** Reads a list page by page; `fetchNextPage` reads on. Rows: `rowsOf(list)`. */
export function useReadList<Path extends ListPath>(
  path: Path,
  input: Reading<Path> = {} as Reading<Path>,
  options: Options = {},
) {
  type Page = Answer<`GET ${Path}`>
  return useInfiniteQuery({
    queryKey: [path, input, 'pages'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) => {
      const query = { ...(input as { readonly query?: object }).query, cursor: pageParam }
      return call(`GET ${path}` as never, { ...input, query, signal } as never) as Promise<Page>
    },
    getNextPageParam: (page) => (page as { readonly next_cursor: string | null }).next_cursor ?? undefined,
    placeholderData: keepPreviousData as never,
    ...options,
  })
}

/** The rows of all pages that were read. */
export function rowsOf<Row>(
  list: Pick<
    UseInfiniteQueryResult<{ readonly pages: readonly { readonly data: readonly Row[] }[] }>,
    'data'
  >,
): readonly Row[] {
  return list.data?.pages.flatMap((page) => page.data) ?? []
}

/** Reads again what these endpoints answer, wherever it is shown; other data that begin with the same path too. */
export async function readAgain(...paths: readonly ReadPath[]): Promise<void> {
  await Promise.all(
    paths.map((path) =>
      queryClient.invalidateQueries({
        predicate: ({ queryKey: [read] }) => read === path || String(read).startsWith(`${path}/`),
      }),
    ),
  )
}
