/**
 * The archive's tables. Their SQL is that of every ClickHouse since 18.16: times are integers. Only new servers get codecs.
 * Merges keep one row of each sorting key, so every query reads with `final`.
 */
export type ArchiveTable = {
  readonly name: string
  readonly columns: Readonly<Record<string, string>>
  readonly version: string
  readonly order: string
  /** Integers that differ little from one row to the next in this order. */
  readonly steady: readonly string[]
}

/**
 * A request has one row for each version that was copied; the last one counts. `record` is the text that Postgres has, to the
 * byte. `ts` is in milliseconds, `posted_at` and `updated_at` in microseconds, `day` in days since 1970-01-01.
 */
export const requestTable = {
  name: 'requests',
  columns: {
    organization_id: 'UUID',
    ts: 'Int64',
    id: 'UUID',
    version: 'Int16',
    api_key_id: 'UUID',
    cost: 'Int64',
    day: 'Int32',
    model: 'String',
    outcome: 'String',
    input: 'Int64',
    cached_input: 'Int64',
    cache_write: 'Int64',
    output: 'Int64',
    reasoning: 'Int64',
    posted_at: 'Int64',
    updated_at: 'Int64',
    record: 'String',
  },
  version: 'version',
  order: 'organization_id, ts, id',
  steady: ['ts', 'posted_at', 'updated_at'],
} as const satisfies ArchiveTable

/**
 * Charges of months that left the ledger. `place` and `balance` are those of the account, `seq` and `balance_after` those of the
 * lane. Empty texts are null in Postgres. `digest` covers the other columns, so that a changed row can be named.
 */
export const chargeTable = {
  name: 'charges',
  columns: {
    organization_id: 'UUID',
    place: 'Int64',
    seq: 'Int64',
    ref_id: 'UUID',
    rank: 'Int16',
    amount: 'Int64',
    balance: 'Int64',
    balance_after: 'Int64',
    ts: 'Int64',
    posted_at: 'Int64',
    api_key_id: 'UUID',
    day: 'Int32',
    model: 'String',
    price_id: 'String',
    tokens: 'String',
    usage_source: 'String',
    digest: 'Int64',
  },
  version: 'posted_at',
  order: 'organization_id, place',
  steady: ['place', 'seq', 'balance', 'ts', 'posted_at'],
} as const satisfies ArchiveTable

/**
 * By month, so that a range of time reads few parts; by organization, so that one customer's rows are together. With codecs a
 * request takes 58 bytes, without them 96 (docs/contribute/measurements.md).
 */
export function createTableSql(
  { name, columns, version, order, steady }: ArchiveTable,
  server: string,
): string {
  const hasCodecs = !isOlder(server, codecsSince)
  const codecOf = (column: string) => (steady.includes(column) ? ' codec(Delta, ZSTD(3))' : ' codec(ZSTD(3))')
  const columnsSql = Object.entries(columns).map(
    ([column, type]) => `${column} ${type}${hasCodecs ? codecOf(column) : ''}`,
  )
  return `create table if not exists ${name} (${columnsSql.join(', ')})
  engine = ReplacingMergeTree(${version})
  partition by toYYYYMM(toDateTime(intDiv(ts, 1000), 'UTC'))
  order by (${order})`
}

/** What ClickHouse reports of the table. */
export type FoundTable = {
  readonly version: string
  /** `null`: there is no table of this name. */
  readonly engine: string | null
  readonly sortingKey: string
  readonly columns: Readonly<Record<string, string>>
}

const versionMin = [18, 16] as const
/** Servers from 18.16 until here read codecs, but not all of these. */
const codecsSince = [20, 3] as const

/** Why a table cannot be used, as one sentence with its remedy; `undefined`: it can. Pure. */
export function archiveProblemOf(table: ArchiveTable, found: FoundTable): string | undefined {
  const { version, engine } = found
  if (isOlder(version, versionMin))
    return `ClickHouse ${version} is not supported: use version ${versionMin.join('.')} or newer.`
  if (engine === null)
    return `The database in CLICKHOUSE_URL has no table ${table.name}: run \`npm run archive -- create\`.`
  const wrong = differenceOf(table, found, engine)
  if (wrong === undefined) return undefined
  return `Table ${table.name} in ClickHouse ${wrong}: name another database in CLICKHOUSE_URL and run \`npm run archive -- create\`.`
}

function isOlder(version: string, than: readonly [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return !(major > than[0] || (major === than[0] && minor >= than[1]))
}

function differenceOf(
  table: ArchiveTable,
  { sortingKey, columns }: FoundTable,
  engine: string,
): string | undefined {
  const engines = new RegExp(`^(Replicated|Shared)?ReplacingMergeTree\\((.*, ?)?${table.version}\\)`)
  if (!engines.test(engine)) return `is not a ReplacingMergeTree(${table.version})`
  if (/ TTL /i.test(engine)) return 'has a TTL, which would remove rows'
  if (sortingKey !== table.order) return `is not sorted by (${table.order})`
  const names = [...new Set([...Object.keys(table.columns), ...Object.keys(columns)])]
  const differing = names.filter((name) => columns[name] !== table.columns[name])
  return differing.length === 0
    ? undefined
    : `has other columns than this release (${differing.slice(0, 3).join(', ')})`
}
