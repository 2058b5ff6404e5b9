import { Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { wideHistogram } from './wide-histogram.ts'

const config = {
  name: 'took',
  help: 'How long it took.',
  labelNames: ['a', 'b'],
  buckets: [0.01, 1, 2],
} as const

test('it reports the same as prom-client for the same values', async () => {
  const registry = new Registry()
  const theirs = new Histogram({
    ...config,
    labelNames: ['a', 'b'],
    buckets: [0.01, 1, 2],
    registers: [registry],
  })
  const ours = wideHistogram(config)
  const labels = [
    { a: 'x', b: 'y' },
    { a: 'xy', b: '' },
    { a: 'a "name"\\of\nlines', b: 'y' },
  ]
  for (const [n, value] of [0, 0.01, 0.5, 1, 1.5, 2, 2.5, 1000].entries())
    for (const of of labels.slice(n % 2)) {
      ours.observe(of, value)
      theirs.observe(of, value)
    }
  const sorted = (text: string) => text.trim().split('\n').toSorted()
  expect(sorted(ours.text())).toEqual(sorted(await registry.metrics()))
})

test('forgotten series start again, and the rest continue', () => {
  const histogram = wideHistogram(config)
  const counts = () => histogram.text().match(/^took_count.*$/gm)
  for (const a of ['x', 'y']) histogram.observe({ a, b: '' }, 1)
  histogram.forget(({ a }) => a === 'x')
  expect(counts()).toEqual(['took_count{a="y",b=""} 1'])
  for (const a of ['x', 'y']) histogram.observe({ a, b: '' }, 1)
  expect(counts()).toEqual(['took_count{a="y",b=""} 2', 'took_count{a="x",b=""} 1'])
})
