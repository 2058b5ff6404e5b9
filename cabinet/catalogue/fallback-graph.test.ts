import { expect, test } from 'vitest'
import { fallbackFacts } from './fallback-graph.ts'

const route = (model: string, fallbacks: readonly string[], type: 'chat' | 'embedding' = 'chat') => ({
  model,
  type,
  fallbacks,
})
const graphOf = (...routes: ReturnType<typeof route>[]) => new Map(routes.map((each) => [each.model, each]))

test('fallbacks that no route serves, that do something else and that lead back are told apart', () => {
  const graph = graphOf(route('a/b', ['a/a']), route('a/vector', [], 'embedding'), route('a/c', []))
  expect(fallbackFacts(route('a/a', ['a/gone', 'a/vector', 'a/c', 'a/b']), graph)).toEqual({
    missing: ['a/gone'],
    otherType: ['a/vector'],
    circle: ['a/a', 'a/b', 'a/a'],
  })
})

test('of a route its own fallbacks count as they are now, whatever the catalogue still has', () => {
  const graph = graphOf(route('a/a', ['a/b']), route('a/b', ['a/a']))
  expect(fallbackFacts(route('a/a', []), graph).circle).toBeUndefined()
  expect(fallbackFacts(route('a/new', ['a/new2']), graphOf(route('a/new2', ['a/new']))).circle).toEqual([
    'a/new',
    'a/new2',
    'a/new',
  ])
})
