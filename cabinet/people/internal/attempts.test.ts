import { expect, test } from 'vitest'
import { passwordAttempts } from './attempts.ts'

test('an address is counted as one, in whatever letters the database takes for the same', async () => {
  const counted = new Set<string>()
  const attempts = passwordAttempts({
    count: async (_, caller) => {
      counted.add(caller)
      return 0
    },
    clear: async () => undefined,
  })
  for (const email of [
    'nikita@x.ru',
    'NIKITA@X.RU',
    'n\u0130kita@x.ru',
    'ni\u212aita@x.ru',
    'nik\u0131ta@x.ru',
  ])
    await attempts.begin(email)
  expect(counted.size).toBe(1)
})
