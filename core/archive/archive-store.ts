import { type ClickHouseClient, createClient, parseError } from '@clickhouse/client'
import { z } from 'zod'
import { unlessAborted } from '../process/unless-aborted.ts'
import {
  type ArchiveTable,
  archiveProblemOf,
  createTableSql,
  type FoundTable,
  requestTable,
} from './internal/archive-table.ts'
import type { RowOf } from './internal/archived-row.ts'

/** Longest wait for ClickHouse, if the caller sets none. A call that takes longer has failed. */
const timeoutMsDefault = 30_000

/** ClickHouse did not do what it was asked: it is unavailable, too slow or full. Holds no secret. */
export class ArchiveUnavailable extends Error {
  constructor(cause: unknown) {
    super(`ClickHouse failed: ${reasonOf(cause)}`)
    this.name = 'ArchiveUnavailable'
  }
}

/** The archive cannot be used until an operator changes something. The message explains how. */
export class ArchiveProblem extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ArchiveProblem'
  }
}

export type ArchiveStore = {
  /**
   * Reads whether a table is there and is ours. Default: that of requests.
   * @throws ArchiveProblem, ArchiveUnavailable
   */
  check(table?: ArchiveTable): Promise<void>
  /** Creates a table if there is none of its name. @throws ArchiveUnavailable */
  create(table?: ArchiveTable): Promise<void>
  /** Writes rows. When it returns, queries see them. May be repeated. @throws ArchiveUnavailable: some may be written. */
  insert<Table extends ArchiveTable>(
    table: Table,
    rows: readonly RowOf<Table>[],
    ending?: AbortSignal,
  ): Promise<void>
  /** Rows of a query that returns texts only: versions differ in how they write large integers. @throws ArchiveUnavailable */
  read<Row>(sql: string, row: z.ZodType<Row>): Promise<readonly Row[]>
  close(): Promise<void>
}

/**
 * Opens the archive. Nothing is sent yet.
 *
 * @param url with user, password and database.
 * @param options.timeoutMs longest wait for the response to a query, including the wait for a connection. Default 30 s.
 * @param options.onError is called for each query that fails, before its caller gets the error.
 */
export function openArchive(
  url: string,
  {
    timeoutMs = timeoutMsDefault,
    onError = () => undefined,
  }: { readonly timeoutMs?: number; readonly onError?: (error: ArchiveUnavailable) => void } = {},
): ArchiveStore {
  const client = createClient({
    url,
    request_timeout: timeoutMs,
    max_open_connections: 4,
    keep_alive: { enabled: false }, // old servers close connections at any time; there are few requests
    log: { level: 127 }, // off: the caller reports failures
  })
  const read: ArchiveStore['read'] = async (sql, row) =>
    z.array(row).parse(await orUnavailable(() => readData(client, sql, timeoutMs), onError))
  return {
    read,
    async check(table = requestTable) {
      const problem = archiveProblemOf(table, await findTable(read, table.name))
      if (problem !== undefined) throw new ArchiveProblem(problem)
    },
    async create(table = requestTable) {
      const query = createTableSql(table, await readVersion(read))
      await orUnavailable(() => client.command({ query }))
    },
    insert: ({ name }, rows, ending) => insertRows(client, name, rows, ending),
    close: () => client.close(),
  }
}

/** Of the client's own limits, none begins before a connection is free. */
async function readData(client: ClickHouseClient, query: string, timeoutMs: number): Promise<unknown> {
  const ends = AbortSignal.timeout(timeoutMs)
  const result = await client.query({
    query,
    format: 'JSON',
    abort_signal: ends,
    clickhouse_settings: { max_execution_time: Math.ceil(timeoutMs / 1000), wait_end_of_query: 1 },
  })
  try {
    const { data, exception } = responseSchema.parse(await unlessAborted(result.json(), ends))
    if (exception !== undefined) throw parseError(exception)
    return data
  } finally {
    result.close()
  }
}

/** A query that fails after its first rows may get 200, these rows, and the exception. */
const responseSchema = z.object({ data: z.unknown(), exception: z.string().optional() })

function insertRows(
  client: ClickHouseClient,
  table: string,
  values: readonly unknown[],
  ending: AbortSignal | undefined,
): Promise<void> {
  const abort = ending === undefined ? {} : { abort_signal: ending }
  return orUnavailable(
    async () => void (await client.insert({ table, values, format: 'JSONEachRow', ...abort })),
  )
}

const tableSchema = z.object({ engine: z.string(), sorting_key: z.string() })
const columnSchema = z.object({ name: z.string(), type: z.string() })

async function findTable(read: ArchiveStore['read'], name: string): Promise<FoundTable> {
  const ofTable = `where database = currentDatabase() and`
  const [table] = await read(
    `select engine_full as engine, sorting_key from system.tables ${ofTable} name = '${name}'`,
    tableSchema,
  )
  const columns = await read(
    `select name, type from system.columns ${ofTable} table = '${name}'`,
    columnSchema,
  )
  return {
    version: await readVersion(read),
    engine: table?.engine ?? null,
    sortingKey: table?.sorting_key ?? '',
    columns: Object.fromEntries(columns.map(({ name, type }) => [name, type])),
  }
}

async function readVersion(read: ArchiveStore['read']): Promise<string> {
  const [server] = await read('select version() as version', z.object({ version: z.string() }))
  return server?.version ?? ''
}

async function orUnavailable<Answer>(
  work: () => Promise<Answer>,
  onError: (error: ArchiveUnavailable) => void = () => undefined,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    const unavailable = new ArchiveUnavailable(error)
    onError(unavailable)
    throw unavailable
  }
}

/** The kind of failure. Messages of ClickHouse may quote rows, and those of the client a URL. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown error'
  const code = 'code' in cause ? ` ${String(cause.code)}` : ''
  const type = 'type' in cause && typeof cause.type === 'string' ? ` ${cause.type}` : ''
  return `${cause.name}${code}${type}`
}
