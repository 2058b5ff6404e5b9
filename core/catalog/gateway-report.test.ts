import { expect, test } from 'vitest'
import { findReport, writeReport } from './gateway-report.ts'

test('a report is read back as it was written, and each differs from the one before', () => {
  const unhealthy = { openai: 'unauthorized', 'openai gpt-4o': 'slow' } as const
  const report = { revision: 42n, unhealthy, answering: ['mistral', 'openai'], version: '0.2.0' }
  expect(findReport(writeReport(report, 1))).toEqual(report)
  expect(writeReport(report, 1)).not.toBe(writeReport(report, 2))
})

test('a report names a bounded number of deployments and providers', () => {
  const unhealthy = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`p${n}`, 'failed' as const]))
  const answering = Array.from({ length: 2000 }, (_, n) => `p${n}`)
  const read = findReport(writeReport({ revision: 1n, unhealthy, answering }, 0))
  expect(read?.answering).toHaveLength(1000)
  expect(Object.keys(read?.unhealthy ?? {})).toHaveLength(64)
})

test('reports of older gateways lack health, newer ones have other fields, and an invalid report is ignored', () => {
  expect(findReport('{"revision":"7","unhealthy":{"a":"bewitched"}}')?.unhealthy).toEqual({ a: 'failed' })
  expect(findReport('{"revision":"7","atMs":1}')).toEqual({ revision: 7n, unhealthy: {}, answering: [] })
  for (const text of [
    '',
    'null',
    '{}',
    '{"revision":"x"}',
    '{"revision":7}',
    '{"revision":"7","unhealthy":[1]}',
  ])
    expect(findReport(text)).toBeUndefined()
})
