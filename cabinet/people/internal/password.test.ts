import { argon2Sync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createPasswords, noPassword } from './password.ts'

const passwords = createPasswords()

test('a password is known again, and no other one', async () => {
  const hash = await passwords.hash('correct horse battery')
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(await passwords.check('correct horse battery', hash)).toEqual({ fits: true, isOutdated: false })
  expect(await passwords.check('correct horse batterz', hash)).toMatchObject({ fits: false })
})

test('one text is one password, whichever way a keyboard composes it', async () => {
  const hash = await passwords.hash('пароль с буквой й')
  expect(await passwords.check('пароль с буквой й'.normalize('NFD'), hash)).toMatchObject({ fits: true })
})

test('a hash of other parameters still opens, and asks to be made again', async () => {
  const nonce = Buffer.alloc(16, 1)
  const cost = { memory: 8 * 1024, passes: 3, parallelism: 1, tagLength: 32 }
  const tag = argon2Sync('argon2id', { message: 'an old password', nonce, ...cost })
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''))
  const older = `$argon2id$v=19$m=8192,t=3,p=1$${salt}$${hash}`
  expect(await passwords.check('an old password', older)).toEqual({ fits: true, isOutdated: true })
})

test('nothing fits where there is no password, after the same work', async () => {
  for (const hash of [undefined, noPassword, 'anything'])
    expect(await passwords.check('anything', hash)).toMatchObject({ fits: false })
})

test('four are hashed at once, 32 wait, and the next ones are turned away', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => passwords.check('x', undefined)))
  expect(answers.filter((answer) => answer === 'busy')).toHaveLength(4)
})
