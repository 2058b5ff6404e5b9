import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { aRoute, type RouteFields } from '../../routing/made-up-route.fixture.ts'
import { createRouteTable } from '../../routing/route-table.ts'
import { findModel, listModels } from './model-list.ts'

const insider = randomUUID()

function route(model: string, fields: RouteFields = {}) {
  return aRoute(model, { displayName: 'shown nowhere', createdAtS: 1_760_000_000, ...fields })
}

const table = createRouteTable('1', [
  route('b/second'),
  route('a/with/slashes', { type: 'embedding' }),
  route('b/first'),
  route('b/closed', { organizations: [insider] }),
])

function idsFor(organizationId: string, allowedModels: readonly string[] | null): readonly string[] {
  return listModels(table, { organizationId, allowedModels }).map(({ id }) => id)
}

test('a key sees the models of its list that are open to its organization, of every kind, by name', () => {
  expect(idsFor(randomUUID(), null)).toEqual(['a/with/slashes', 'b/first', 'b/second'])
  expect(idsFor(insider, null)).toEqual(['a/with/slashes', 'b/closed', 'b/first', 'b/second'])
  expect(idsFor(insider, ['b/*'])).toEqual(['b/closed', 'b/first', 'b/second'])
  expect(idsFor(randomUUID(), ['b/closed', 'b/second', 'c/none'])).toEqual(['b/second'])
  expect(idsFor(insider, [])).toEqual([])
})

test('a single model is found exactly where the list has it', () => {
  for (const organizationId of [insider, randomUUID()])
    for (const allowedModels of [null, ['b/*'], ['a/with/slashes'], []]) {
      const caller = { organizationId, allowedModels }
      for (const id of ['a/with/slashes', 'b/first', 'b/closed', 'b/none'])
        expect(findModel(table, caller, id)).toEqual(
          listModels(table, caller).find((entry) => entry.id === id),
        )
    }
})

test('an entry has the four fields of OpenAI’s schema and its provider as the owner', () => {
  expect(findModel(table, { organizationId: insider, allowedModels: null }, 'a/with/slashes')).toEqual({
    id: 'a/with/slashes',
    object: 'model',
    created: 1_760_000_000,
    owned_by: 'a',
  })
})
