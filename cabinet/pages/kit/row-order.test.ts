import { expect, test } from 'vitest'
import { inOrder, nextOrder, type Order } from './row-order.ts'

const name = { id: 'name', compare: (one: Row, other: Row) => one.name.localeCompare(other.name) }
const cost = { id: 'cost', isNumber: true, compare: (one: Row, other: Row) => one.cost - other.cost }
type Row = { readonly name: string; readonly cost: number }

test('a click sorts by a column, numbers from the highest, the second reverses it, the third restores the order', () => {
  const orders = (column: typeof name | typeof cost) => {
    const first = nextOrder(column, { column: 'other', isDescending: true })
    const second = nextOrder(column, first)
    return [first, second, nextOrder(column, second)]
  }
  expect(orders(name)).toEqual([
    { column: 'name', isDescending: false },
    { column: 'name', isDescending: true },
    undefined,
  ])
  expect(orders(cost)).toEqual([
    { column: 'cost', isDescending: true },
    { column: 'cost', isDescending: false },
    undefined,
  ])
})

test('equal rows keep their order in both directions, and an unknown column changes nothing', () => {
  const rows = [
    { name: 'b', cost: 2 },
    { name: 'a', cost: 2 },
    { name: 'c', cost: 1 },
  ]
  const namesIn = (order: Order | undefined) =>
    inOrder(rows, [name, cost], order)
      .map((row) => row.name)
      .join('')
  expect(namesIn({ column: 'cost', isDescending: true })).toBe('bac')
  expect(namesIn({ column: 'cost', isDescending: false })).toBe('cba')
  expect(namesIn({ column: 'name', isDescending: false })).toBe('abc')
  expect([namesIn(undefined), namesIn({ column: 'gone', isDescending: true })]).toEqual(['bac', 'bac'])
})
