import { expect, test } from 'vitest'
import { addRubles } from '../../money/rubles.ts'
import { axisTop, barsOf, seriesOf, type Usage } from './usage-series.ts'

const tokens = { input: 1, cached_input: 0, cache_write: 0, output: 1, reasoning: 0 }
const noDetails = { errors: 0, duration_p50_ms: null, duration_p95_ms: null, durations: [] }
const row = (start: string, model: string, cost_rub: string) => ({
  start,
  model,
  api_key_id: null,
  api_key_name: null,
  requests: 1,
  tokens,
  cost_rub,
  provider: null,
  tag: null,
  ...noDetails,
})

/** Ten models on two Moscow days: the last hour of one is followed by the first hour of the next. */
const usage: Usage = {
  from: '2026-11-19T21:00:00.000Z',
  to: '2026-11-22T21:00:00.000Z',
  time_zone: 'Europe/Moscow',
  bucket: 'day',
  group_by: 'model',
  ledger_total_rub: '0',
  data: [
    ...Array.from({ length: 10 }, (_, at) => row('2026-11-20T21:00:00.000Z', `m${at}`, `0.00000000${at}`)),
    row('2026-11-21T21:00:00.000Z', 'm9', '9007199254.740993123'),
  ],
  totals: { requests: 11, tokens, cost_rub: '0', ...noDetails },
  details_since: null,
}

test('bars cover every day of the zone, and their sum equals that of the rows, digit by digit', () => {
  const bars = barsOf(
    usage,
    seriesOf(usage.data, 'other', ({ model }) => model ?? ''),
  )
  expect(bars.map(({ start }) => start)).toEqual(['2026-11-20', '2026-11-21', '2026-11-22'])
  expect(bars.map(({ requests }) => requests)).toEqual([0, 10, 1])
  const sum = addRubles(...usage.data.map(({ cost_rub }) => cost_rub))
  expect(addRubles(...bars.map(({ value }) => value))).toBe(sum)
  expect(addRubles(...bars.flatMap(({ parts }) => parts))).toBe(sum)
})

test('at most eight series have their own color: the most expensive; all others share one', () => {
  const series = seriesOf(usage.data, 'other', ({ model }) => model ?? '')
  expect(series.map(({ name }) => name)).toEqual(['m9', 'm8', 'm7', 'm6', 'm5', 'm4', 'm3', 'other'])
  expect(series.at(-1)?.value).toBe('0.000000003')
})

test('bars of weeks and months begin with the span, then on Mondays and firsts, and every row is in one of them', () => {
  const span = { ...usage, from: '2026-10-28T21:00:00.000Z', to: '2026-11-24T21:00:00.000Z' }
  const starts = ['2026-10-28', '2026-11-01', '2026-11-22'].map((day) => `${day}T21:00:00.000Z`)
  const weeks = barsOf({ ...span, bucket: 'week', data: starts.map((start) => row(start, 'm', '1')) }, [])
  expect(weeks.map(({ start }) => start)).toEqual([
    '2026-10-29', // a Thursday
    '2026-11-02',
    '2026-11-09',
    '2026-11-16',
    '2026-11-23',
  ])
  expect(weeks.map(({ value }) => value)).toEqual(['1', '1', '0', '0', '1'])
  const months = barsOf({ ...span, bucket: 'month', data: [] }, [])
  expect(months.map(({ start }) => start)).toEqual(['2026-10-29', '2026-11-01'])
})

test('hours cover the whole span, also where the clocks are set back', () => {
  const berlin: Usage = {
    ...usage,
    from: '2026-10-24T22:00:00.000Z',
    to: '2026-10-25T23:00:00.000Z',
    time_zone: 'Europe/Berlin',
  }
  expect(barsOf({ ...berlin, bucket: 'hour', data: [] }, [])).toHaveLength(25)
  expect(barsOf({ ...berlin, data: [] }, [])).toHaveLength(1)
})

test('requests and tokens are stacked like costs, and a share of the cache is of all series together', () => {
  const mixed = {
    ...usage,
    data: [
      { ...row('2026-11-20T21:00:00.000Z', 'a', '5'), requests: 3, tokens: { ...tokens, cached_input: 2 } },
      { ...row('2026-11-20T21:00:00.000Z', 'b', '1'), requests: 4 },
    ],
  }
  const shown = (metric: 'requests' | 'tokens' | 'cache') => {
    const series = seriesOf(mixed.data, 'all', ({ model }) => model ?? '', metric)
    const bar = barsOf(mixed, series, metric)[1]
    return [series.map(({ name }) => name).join(), bar?.value, ...(bar?.parts ?? [])]
  }
  expect(shown('requests')).toEqual(['b,a', '7', '4', '3'])
  expect(shown('tokens')).toEqual(['a,b', '6', '4', '2'])
  expect(shown('cache')).toEqual(['all', '50', '50'])
})

test('errors are stacked, and a duration is of the requests of all series together', () => {
  const timed = (from_ms: number, below_ms: number, requests: number) => [{ from_ms, below_ms, requests }]
  const at = '2026-11-20T21:00:00.000Z'
  const data = [
    { ...row(at, 'a', '5'), errors: 3, durations: timed(1_000, 1_259, 90) },
    { ...row(at, 'b', '1'), errors: null, durations: timed(10_000, 12_589, 10) },
  ]
  const shown = (metric: 'errors' | 'p50' | 'p95') => {
    const series = seriesOf(data, 'all', ({ model }) => model ?? '', metric)
    const [empty, bar] = barsOf({ ...usage, data }, series, metric)
    return [series.map(({ name }) => name).join(), empty?.value, bar?.value, ...(bar?.parts ?? [])]
  }
  expect(shown('errors')).toEqual(['a,b', '0', '3', '3', '0'])
  expect(shown('p50')).toEqual(['all', '0', '1144', '1144'])
  expect(shown('p95')).toEqual(['all', '0', '11295', '11295'])
})

test('the top of the axis is a round sum that no bar exceeds', () => {
  expect(['0', '0.03', '1', '1.000000001', '7', '19'].map((sum) => axisTop(sum))).toEqual([
    '0.00000001',
    '0.03',
    '1',
    '1.2',
    '8',
    '20',
  ])
})
