import { expect, test } from 'vitest'
import { csvRows } from './csv-rows.ts'

const head = ['n']
const cells = (row: number) => [row]

async function listOf(rows: AsyncIterable<readonly (string | number | null)[]>) {
  const list = []
  for await (const row of rows) list.push(row)
  return list
}

test('an export has every row of every piece, in order, also of pieces without rows', async () => {
  const pieces = [[1, 2], [], [3]]
  const rows = await csvRows(head, cells, async (position: number | undefined) => {
    const at = position ?? 0
    return { rows: pieces[at] ?? [], next: at < 2 ? at + 1 : undefined }
  })
  expect(await listOf(rows)).toEqual([['n'], [1], [2], [3]])
})

test('an export reads a piece only when the one before it has been taken', async () => {
  let readCount = 0
  const rows = await csvRows(head, cells, async () => ({ rows: [++readCount], next: 1 }))
  const iterator = rows[Symbol.asyncIterator]()
  await iterator.next()
  await iterator.next()
  expect(readCount).toBe(1)
  await iterator.next()
  expect(readCount).toBe(2)
})

test('an outage before the first row is an error response, and after it breaks the export off', async () => {
  const fail = () => Promise.reject(new Error('away'))
  await expect(csvRows(head, cells, fail)).rejects.toThrow('away')
  const rows = await csvRows(head, cells, (position: number | undefined) =>
    position === undefined ? Promise.resolve({ rows: [1], next: 1 }) : fail(),
  )
  await expect(listOf(rows)).rejects.toThrow('away')
})
