import { expect, test } from 'vitest'
import { archiveProblemOf, createTableSql, requestTable } from './archive-table.ts'

const sound = {
  version: '24.8.4.13',
  engine:
    "ReplacingMergeTree(version) PARTITION BY toYYYYMM(toDateTime(intDiv(ts, 1000), 'UTC')) ORDER BY (organization_id, ts, id)",
  sortingKey: 'organization_id, ts, id',
  columns: requestTable.columns,
}

test('the table of this release is accepted, replicated too', () => {
  expect(archiveProblemOf(requestTable, sound)).toBeUndefined()
  const replicated = "ReplicatedReplacingMergeTree('/clickhouse/{shard}', '{replica}', version) ORDER BY id"
  expect(archiveProblemOf(requestTable, { ...sound, engine: replicated })).toBeUndefined()
  expect(archiveProblemOf(requestTable, { ...sound, version: '18.16.1' })).toBeUndefined()
})

test.each([
  [
    'an old version',
    { version: '18.14.9' },
    'ClickHouse 18.14.9 is not supported: use version 18.16 or newer.',
  ],
  ['no version', { version: '' }, 'is not supported'],
  ['no table', { engine: null }, 'has no table requests'],
  ['another engine', { engine: 'MergeTree ORDER BY id' }, 'is not a ReplacingMergeTree(version)'],
  ['no version column', { engine: 'ReplacingMergeTree ORDER BY id' }, 'is not a ReplacingMergeTree(version)'],
  ['a TTL', { engine: `${sound.engine} TTL toDate(ts) + toIntervalDay(30)` }, 'has a TTL'],
  ['another order', { sortingKey: 'ts, id' }, 'is not sorted by (organization_id, ts, id)'],
  [
    'another type',
    { columns: { ...requestTable.columns, cost: 'Int32' } },
    'has other columns than this release (cost)',
  ],
  ['a further column', { columns: { ...requestTable.columns, note: 'String' } }, 'than this release (note)'],
])('%s is rejected in one sentence', (_, difference, sentence) => {
  const problem = archiveProblemOf(requestTable, { ...sound, ...difference })
  expect(problem).toContain(sentence)
  expect(problem).toMatch(/^[A-Z].*\.$/)
})

test('only servers that have codecs get them, and integers that differ little are stored as differences', () => {
  const newSql = createTableSql(requestTable, '24.8.4.13')
  expect(newSql).toContain(' ts Int64 codec(Delta, ZSTD(3)), id UUID codec(ZSTD(3)),')
  expect(createTableSql(requestTable, '18.16.1')).not.toContain('codec')
  expect(createTableSql(requestTable, '20.1.2')).not.toContain('codec')
})
