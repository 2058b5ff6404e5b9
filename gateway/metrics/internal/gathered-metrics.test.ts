import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { gatheredCounter, gatheredHistogram } from './gathered-metrics.ts'

function start() {
  const registry = new Registry()
  const registers = [registry]
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line))
  return { registers, lines }
}

test('a collecting counter reports at each scrape the count until then, by labels', async () => {
  const { registers, lines } = start()
  const counter = gatheredCounter({ name: 'seen', help: '-', labelNames: ['a', 'b'], registers })
  counter.inc({ a: 'x', b: 'y' })
  counter.inc({ a: 'x', b: 'y' }, 2)
  counter.inc({ a: 'xy', b: '' })
  expect(await lines()).toEqual(['seen{a="x",b="y"} 3', 'seen{a="xy",b=""} 1'])
  counter.inc({ b: 'y', a: 'x' })
  expect(await lines()).toEqual(['seen{a="x",b="y"} 4', 'seen{a="xy",b=""} 1'])
  expect(await lines()).toContain('seen{a="x",b="y"} 4')
})

test('a collecting histogram loses nothing and counts nothing twice, however much is observed between two scrapes', async () => {
  const { registers, lines } = start()
  const labelNames = ['of'] as const
  const histogram = gatheredHistogram({ name: 'took', help: '-', labelNames, buckets: [1, 2], registers })
  for (let n = 0; n < 1300; n++) histogram.observe({ of: 'x' }, n % 2 === 0 ? 0.5 : 1.5)
  const expected = [
    'took_bucket{le="1",of="x"} 650',
    'took_bucket{le="2",of="x"} 1300',
    'took_bucket{le="+Inf",of="x"} 1300',
    'took_sum{of="x"} 1300',
    'took_count{of="x"} 1300',
  ]
  expect(await lines()).toEqual(expected)
  expect(await lines()).toEqual(expected)
})

test('a collecting histogram may have no labels', async () => {
  const { registers, lines } = start()
  const histogram = gatheredHistogram({ name: 'took', help: '-', labelNames: [], buckets: [1], registers })
  expect(await lines()).toContain('took_count 0')
  histogram.observe({}, 0.5)
  expect(await lines()).toContain('took_count 1')
})
