/**
 * The archive's table. Its SQL is that of every ClickHouse since 18.16: times are integers, and there are no codecs.
 *
 * A request has one row for each version that was copied; merges keep the last one. Every query therefore reads it with
 * `final`. `record` is the text that Postgres has, to the byte.
 */
export const archiveTable = 'requests'

/** Every column. `ts` is in milliseconds, `posted_at` and `updated_at` in microseconds, `day` in days since 1970-01-01. */
export const archiveColumns = {
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
} as const

const columnsSql = Object.entries(archiveColumns).map(([name, type]) => `${name} ${type}`)

/** By month, so that a range of time reads few parts; by organization, so that one customer's rows are together. */
export const createTableSql = `create table if not exists ${archiveTable} (${columnsSql.join(', ')})
  engine = ReplacingMergeTree(version)
  partition by toYYYYMM(toDateTime(intDiv(ts, 1000), 'UTC'))
  order by (organization_id, ts, id)`

/** What ClickHouse reports of the table. */
export type FoundTable = {
  readonly version: string
  /** `null`: there is no table of this name. */
  readonly engine: string | null
  readonly sortingKey: string
  readonly columns: Readonly<Record<string, string>>
}

const versionMin = [18, 16] as const
const engines = /^(Replicated|Shared)?ReplacingMergeTree\((.*, ?)?version\)/

/** Why requests cannot be archived in this table, as one sentence with its remedy; `undefined`: they can. Pure. */
export function archiveProblemOf({ version, engine, sortingKey, columns }: FoundTable): string | undefined {
  if (isOlder(version))
    return `ClickHouse ${version} is not supported: use version ${versionMin.join('.')} or newer.`
  if (engine === null)
    return `The database in CLICKHOUSE_URL has no table ${archiveTable}: run \`npm run archive -- create\`.`
  const wrong = differenceOf(engine, sortingKey, columns)
  if (wrong === undefined) return undefined
  return `Table ${archiveTable} in ClickHouse ${wrong}: name another database in CLICKHOUSE_URL and run \`npm run archive -- create\`.`
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return !(major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1]))
}

function differenceOf(
  engine: string,
  sortingKey: string,
  columns: FoundTable['columns'],
): string | undefined {
  if (!engines.test(engine)) return 'is not a ReplacingMergeTree(version)'
  if (/ TTL /i.test(engine)) return 'has a TTL, which would remove requests'
  if (sortingKey !== 'organization_id, ts, id') return 'is not sorted by (organization_id, ts, id)'
  const names = [...new Set([...Object.keys(archiveColumns), ...Object.keys(columns)])]
  const expected: Readonly<Record<string, string>> = archiveColumns
  const differing = names.filter((name) => columns[name] !== expected[name])
  return differing.length === 0
    ? undefined
    : `has other columns than this release (${differing.slice(0, 3).join(', ')})`
}
