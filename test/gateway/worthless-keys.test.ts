import { describe, expect, test } from 'vitest'
import {
  loneGatewayOfThisFile,
  madeUpKeyBeside,
  uncheckedKeyBeside,
  unknownKeyBeside,
} from '../support/lone-gateway.ts'

const { createKey, scriptCalls, send } = await loneGatewayOfThisFile()
const owner = await createKey()
const faulty = '{'
// The first caller of a new Redis calls twice: the reply is that the functions do not exist, and it loads
// them.
await send({ key: (await createKey()).key, body: faulty })

/** Scripts that Redis runs for three faulty requests, one after the other. */
async function callsFor(key: string, status: number): Promise<number> {
  const before = await scriptCalls()
  for (let n = 0; n < 3; n++) expect(await send({ key, body: faulty })).toMatchObject({ status })
  return (await scriptCalls()) - before
}

describe('the 401 of a key', () => {
  test('that is made up costs no Redis, and comes before its body', async () => {
    expect(await callsFor(madeUpKeyBeside(owner), 401)).toBe(0)
    const headers = { 'content-length': '100000000' }
    const { status, text } = await send({ key: madeUpKeyBeside(owner), headers, body: '{' })
    expect([status, JSON.parse(text).error.code]).toEqual([401, 'invalid_api_key'])
  })

  test('that is made up with a right checksum costs no Redis either', async () => {
    expect(await callsFor(uncheckedKeyBeside(owner), 401)).toBe(0)
  })

  test('that was revoked, or whose text was rotated out, costs Redis once', async () => {
    const revoked = await createKey({ state: 'revoked' })
    expect(await callsFor(revoked.key, 401)).toBe(1)
    const valid = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] })
    const admitted = await createKey({ state: 'revoked' })
    const before = await scriptCalls()
    for (let n = 0; n < 3; n++) expect((await send({ key: admitted.key, body: valid })).status).toBe(401)
    expect((await scriptCalls()) - before).toBe(1)
  })

  test('that is not known yet is asked for each time: it may be about to arrive', async () => {
    expect(await callsFor(unknownKeyBeside(owner), 401)).toBe(3)
  })
})

test('a request that is refused once it was read uses one of its key’s RPM; then it is 429, a large one before it is read', async () => {
  const { key } = await createKey({ rpm: 3 })
  for (const remaining of ['2', '1', '0']) {
    const { status, headers } = await send({ key, body: faulty })
    expect([status, headers['x-ratelimit-remaining-rpm']]).toEqual([400, remaining])
  }
  const refused = await send({ key, body: faulty })
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.any(String)])
  const unread = await send({ key, headers: { 'content-length': '1000000' }, body: '{' })
  expect([unread.status, JSON.parse(unread.text).error.code]).toEqual([429, 'rate_limit_exceeded'])
})

test('a request for a model that is not there uses none, unless its body is large', async () => {
  const { key } = await createKey({ rpm: 1 })
  const ask = (content: string) =>
    send({ key, body: JSON.stringify({ model: 'demo/none', messages: [{ role: 'user', content }] }) })
  for (const [content, status] of [
    ['Hi', 404],
    ['Hi', 404],
    ['Hi'.repeat(10_000), 404],
    ['Hi'.repeat(10_000), 429],
  ] as const)
    expect((await ask(content)).status).toBe(status)
})
