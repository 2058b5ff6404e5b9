import { expect, test } from 'vitest'
import type { Metric } from './usage-metric.ts'
import type { Usage } from './usage-series.ts'
import { useRequestsOf } from './usage-words.ts'

const tokens = { input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 }
const since = '2026-11-21T12:00:00.000Z'

/** Three Moscow days; requests are counted by provider from 15:00 of the second. */
const usage: Usage = {
  from: '2026-11-19T21:00:00.000Z',
  to: '2026-11-22T21:00:00.000Z',
  time_zone: 'Europe/Moscow',
  bucket: 'day',
  group_by: 'provider',
  ledger_total_rub: '0',
  data: [],
  totals: {
    requests: 0,
    tokens,
    cost_rub: '0',
    errors: 0,
    duration_p50_ms: null,
    duration_p95_ms: null,
    durations: [],
  },
  details_since: since,
}

const cases: readonly [Metric, string, string | undefined, string, string][] = [
  // Counts by provider and of errors begin with these counts.
  ['cost', '2026-11-21', 'acme', since, '2026-11-21'],
  ['errors', '2026-11-21', undefined, since, '2026-11-21'],
  ['cost', '2026-11-22', 'acme', '2026-11-22', '2026-11-22'],
  // Requests without a provider end there.
  ['cost', '2026-11-21', '', '2026-11-21', since],
  ['cost', '2026-11-20', '', '2026-11-20', '2026-11-20'],
  // Costs of all providers have been counted at all times.
  ['cost', '2026-11-21', undefined, '2026-11-21', '2026-11-21'],
  // No period begins after its end.
  ['errors', '2026-11-20', undefined, '2026-11-20', '2026-11-20'],
  ['cost', '2026-11-20', 'acme', '2026-11-20', '2026-11-20'],
  ['cost', '2026-11-22', '', '2026-11-22', '2026-11-22'],
]

test.for(cases)(
  'the link of %s on %s of provider %s leads to the requests from %s to %s',
  ([metric, start, id, from, to]) => {
    const url = new URL(useRequestsOf(usage, metric)({ start, id }), 'https://cabinet.example')
    expect([url.searchParams.get('from'), url.searchParams.get('to')]).toEqual([from, to])
  },
)
