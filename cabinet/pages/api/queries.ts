import {
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query'
import { callAny, type Given, type Versioned } from './call.ts'
import type { Answer, Input, ListPath, ReadPath } from './calls.ts'
import { queryClient } from './query-client.ts'

type Reading<Path extends ReadPath> = Omit<Input<`GET ${Path}`>, 'signal'>
type Readings<Path extends ReadPath> =
  Record<never, never> extends Reading<Path>
    ? [input?: Reading<Path>, options?: Options]
    : [input: Reading<Path>, options?: Options]

type Options = {
  /** No request is made while this is false. */
  readonly enabled?: boolean
  /** Polling interval in ms, in addition to the changes that `useLive` reports. */
  readonly refetchInterval?: number | false
}

/**
 * Reads an endpoint: `useRead('/keys/:key_id', { params: { key_id } })`. Previous data stays while new data loads,
 * including data of other filters.
 */
export function useRead<Path extends ReadPath>(
  path: Path,
  ...[input, options]: Readings<Path>
): UseQueryResult<Answer<`GET ${Path}`>> {
  return useReadAny(path, input, options)
}

/** Like `useRead`, of any process: its caller has the types. */
export function useReadAny<Body>(
  path: string,
  input: Given = {},
  options: Options = {},
): UseQueryResult<Body> {
  return useQuery<Body>({
    queryKey: [path, input],
    queryFn: async ({ signal, queryKey }) =>
      (await callAny(`GET ${path}`, { ...input, signal, isFresh: wasRead(queryKey) })).body,
    placeholderData: keepPreviousData as never,
    ...options,
  })
}

/** Like `useRead`, with the version that a change needs as `ifMatch`. */
export function useReadVersioned<Path extends ReadPath>(
  path: Path,
  ...[input, options]: Readings<Path>
): UseQueryResult<Versioned<Answer<`GET ${Path}`>>> {
  return useReadVersionedAny(path, input, options)
}

/** Like `useReadVersioned`, of any process: its caller has the types. */
export function useReadVersionedAny<Body>(
  path: string,
  input: Given = {},
  options: Options = {},
): UseQueryResult<Versioned<Body>> {
  return useQuery<Versioned<Body>>({
    queryKey: [path, input, 'versioned'],
    queryFn: ({ signal, queryKey }) =>
      callAny(`GET ${path}`, { ...input, signal, isFresh: wasRead(queryKey) }),
    ...options,
  })
}

/** Reads a list page by page; `fetchNextPage` reads the next. Rows: `rowsOf(list)`. Only a single page is polled. */
export function useReadList<Path extends ListPath>(
  path: Path,
  input: Reading<Path> = {} as Reading<Path>,
  options: Options = {},
) {
  return useReadListAny<Answer<`GET ${Path}`>>(path, input, options)
}

/** Like `useReadList`, of any process: its caller has the types. */
export function useReadListAny<Page>(path: string, input: Given = {}, options: Options = {}) {
  return useInfiniteQuery({
    queryKey: [path, input, 'pages'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ signal, pageParam, queryKey }): Promise<Page> => {
      const query = { ...input.query, cursor: pageParam }
      return (await callAny(`GET ${path}`, { ...input, query, signal, isFresh: wasRead(queryKey) })).body
    },
    getNextPageParam: (page) => (page as { readonly next_cursor: string | null }).next_cursor ?? undefined,
    placeholderData: keepPreviousData as never,
    ...options,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) < 2 && (options.refetchInterval ?? false),
  })
}

/** Whether a query has been answered before, well or badly: it is then asked for because that may have changed. */
function wasRead(queryKey: readonly unknown[]): boolean {
  const state = queryClient.getQueryState(queryKey)
  return state !== undefined && state.dataUpdateCount + state.errorUpdateCount + state.fetchFailureCount > 0
}

/** The rows of all pages read so far. */
export function rowsOf<Row>(
  list: Pick<
    UseInfiniteQueryResult<{ readonly pages: readonly { readonly data: readonly Row[] }[] }>,
    'data'
  >,
): readonly Row[] {
  return list.data?.pages.flatMap((page) => page.data) ?? []
}

/** Reads these endpoints again wherever they are shown, including other data whose path begins the same way. */
export async function readAgain(...paths: readonly ReadPath[]): Promise<void> {
  await readAnyAgain(...paths)
}

/** Like `readAgain`, of any process. */
export async function readAnyAgain(...paths: readonly string[]): Promise<void> {
  await Promise.all(
    paths.map((path) =>
      queryClient.invalidateQueries({
        predicate: ({ queryKey: [read] }) => read === path || String(read).startsWith(`${path}/`),
      }),
    ),
  )
}
