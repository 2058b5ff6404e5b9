import { expect, test } from 'vitest'
import { changedModels, fallbackFacts, notingGraph } from './fallback-graph.ts'

const route = (model: string, fallbacks: readonly string[], type: 'chat' | 'embedding' = 'chat') => ({
  model,
  type,
  fallbacks,
})
const graphOf = (...routes: ReturnType<typeof route>[]) => new Map(routes.map((each) => [each.model, each]))

test('missing fallbacks, fallbacks of another type and cycles are reported separately', () => {
  const graph = graphOf(route('a/b', ['a/a']), route('a/vector', [], 'embedding'), route('a/c', []))
  expect(fallbackFacts(route('a/a', ['a/gone', 'a/vector', 'a/c', 'a/b']), graph)).toEqual({
    missing: ['a/gone'],
    otherType: ['a/vector'],
    circle: ['a/a', 'a/b', 'a/a'],
  })
})

test('of a route its own fallbacks count as they are now, whatever the catalog still has', () => {
  const graph = graphOf(route('a/a', ['a/b']), route('a/b', ['a/a']))
  expect(fallbackFacts(route('a/a', []), graph).circle).toBeUndefined()
  expect(fallbackFacts(route('a/new', ['a/new2']), graphOf(route('a/new2', ['a/new']))).circle).toEqual([
    'a/new',
    'a/new2',
    'a/new',
  ])
})

test('what is found out about a route changes only with models that were looked up for it', () => {
  const before = graphOf(route('a/b', ['a/c']), route('a/c', []), route('a/far', []))
  const asked = new Set<string>()
  const graph = notingGraph(before, (model) => asked.add(model))
  expect(fallbackFacts(route('a/a', ['a/b', 'a/gone']), graph).missing).toEqual(['a/gone'])
  expect(asked).toEqual(new Set(['a/b', 'a/gone', 'a/c']))
})

test('a model has changed when its route is new, gone, of another type or falls back elsewhere', () => {
  const before = graphOf(
    route('a/same', ['a/b']),
    route('a/gone', []),
    route('a/type', []),
    route('a/way', []),
  )
  const after = graphOf(
    ...[route('a/same', ['a/b']), route('a/new', [])],
    ...[route('a/type', [], 'embedding'), route('a/way', ['a/same'])],
  )
  expect([...changedModels(before, after)].sort()).toEqual(['a/gone', 'a/new', 'a/type', 'a/way'])
})
