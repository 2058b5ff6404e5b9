import { expect, test } from 'vitest'
import { inputItemList } from './input-item-list.ts'

const input = JSON.stringify({
  items: [{ role: 'user' }, { id: 'own', type: 'reasoning' }, { role: 'user' }],
})

function list(query: string) {
  const listed = inputItemList({ id: '7', input }, new URLSearchParams(query))
  return 'refusal' in listed ? listed : JSON.parse(listed.json)
}

const idsOf = (query: string) => list(query).data.map(({ id }: { id: string }) => id)

test('items come newest first, and each has an id', () => {
  expect(idsOf('')).toEqual(['in_7_2', 'own', 'in_7_0'])
  expect(idsOf('order=asc')).toEqual(['in_7_0', 'own', 'in_7_2'])
})

test('pages follow each other', () => {
  expect(list('limit=2')).toMatchObject({ first_id: 'in_7_2', last_id: 'own', has_more: true })
  expect(list('limit=2&after=own')).toMatchObject({ first_id: 'in_7_0', last_id: 'in_7_0', has_more: false })
  expect(list('after=in_7_0')).toMatchObject({ data: [], first_id: null, last_id: null })
})

test.each(['0', '101', 'x', '1.5'])('a limit of %s is an error', (limit) => {
  expect(list(`limit=${limit}`)).toMatchObject({ refusal: { code: 'invalid_value', param: 'limit' } })
})
