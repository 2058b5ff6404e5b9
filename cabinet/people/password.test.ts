import { argon2Sync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createPasswords, noPassword } from './password.ts'

const passwords = createPasswords()

test('a password is known again, and no other one', async () => {
  const hash = await passwords.hash('correct horse battery', 'open')
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(await passwords.check('correct horse battery', hash, 'open')).toEqual({
    fits: true,
    isOutdated: false,
  })
  expect(await passwords.check('correct horse batterz', hash, 'open')).toMatchObject({ fits: false })
})

test('one text is one password, whichever way a keyboard composes it', async () => {
  const hash = await passwords.hash('пароль с буквой й', 'open')
  expect(await passwords.check('пароль с буквой й'.normalize('NFD'), hash, 'open')).toMatchObject({
    fits: true,
  })
})

test('a hash of other parameters still opens, and asks to be made again', async () => {
  const nonce = Buffer.alloc(16, 1)
  const cost = { memory: 8 * 1024, passes: 3, parallelism: 1, tagLength: 32 }
  const tag = argon2Sync('argon2id', { message: 'an old password', nonce, ...cost })
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''))
  const older = `$argon2id$v=19$m=8192,t=3,p=1$${salt}$${hash}`
  expect(await passwords.check('an old password', older, 'open')).toEqual({ fits: true, isOutdated: true })
})

test('nothing fits where there is no password, after the same work', async () => {
  for (const hash of [undefined, noPassword, 'anything'])
    expect(await passwords.check('anything', hash, 'open')).toMatchObject({ fits: false })
})

test('three are hashed at once, 16 wait, and the next strangers are turned away', async () => {
  const answers = await Promise.all(Array.from({ length: 23 }, () => passwords.check('x', undefined, 'open')))
  expect(answers.filter((answer) => answer === 'busy')).toHaveLength(4)
})

test('a known caller or one with a proof of work goes before strangers, however many of these wait', async () => {
  const order: string[] = []
  const lanes = [...Array.from({ length: 19 }, () => 'open' as const), 'proven', 'known'] as const
  const hashed = lanes.map(async (lane) => {
    expect(await passwords.hash('x', lane)).not.toBe('busy')
    order.push(lane)
  })
  await Promise.all(hashed)
  // Of 21, where these came last; how long each hash takes differs, so not to the place.
  expect(order.slice(0, 15)).toEqual(expect.arrayContaining(['known', 'proven']))
})
