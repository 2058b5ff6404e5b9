import { beforeAll, expect, test, vi } from 'vitest'
import { createKey, revokeKey } from '#core/keys/key-store'
import { openStream } from '../support/chat-stream.ts'
import { pepper } from '../support/customer.ts'
import { patient } from '../support/patient-gateway.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { settledBooks } from '../support/settled-books.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { pausedAnswer } from '../support/upstream.ts'
import { administrationOfThisFile } from '../support/web.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const administration = await administrationOfThisFile(stack.database)
const messages = [{ role: 'user', content: 'Say hello' }]
const outputNano = 1_000_000n
const wholeCost = 5n * outputNano
const streamCount = 20

beforeAll(async () => {
  await stack.startWorker()
})

test('a blocked organization starts nothing more at any gateway: what runs ends and is charged, and unblocking lets exactly the keys work that did', async () => {
  const gateway = await stack.startGateway(patient)
  const gateways = [gateway, await stack.startGateway(patient)]
  const model = await stack.createModel({ inputNano: 0n, outputNano, maxOutputTokens: 1_000 })
  const balanceNano = 1_000_000_000_000n
  const { key, organizationId } = await stack.createCustomer({ balanceNano, rpm: 1_000_000 })
  const makeKey = (name: string) =>
    inTestScope(stack.database.pool, (client) =>
      createKey(client, { organizationId, name, managedBy: 'cabinet' }, pepper),
    )
  const [revoked, blocked] = [await makeKey('revoked'), await makeKey('blocked')]
  await inTestScope(stack.database.pool, (client) => revokeKey(client, revoked.keyId))
  await stack.database.pool.query('update api_keys set owner_blocked_at = now() where id = $1', [
    blocked.keyId,
  ])
  for (const each of gateways) await untilServed(each, key, model)
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  const streams = await Promise.all(
    Array.from({ length: streamCount }, (_, n) => openStream(gateways[n % 2] ?? gateway, key, model)),
  )

  const { cookie } = await signedInAdministrator(stack.database.pool)
  const change = async (verb: 'block' | 'unblock') => {
    const path = `/admin/organizations/${organizationId}/${verb}`
    const { body } = await administration.call('POST', path, { cookie, body: { reason: 'A stolen card' } })
    return body.programmed
  }
  /** What each key gets at each gateway. */
  const codesOf = async (secrets: readonly string[]) => {
    const codes = []
    for (const secret of secrets)
      for (const each of gateways) {
        const response = await post(each, secret, { model: 'none/such', messages })
        codes.push(((await response.json()) as { error: { code: string } }).error.code)
      }
    return codes
  }
  await vi.waitFor(async () => expect(await change('block')).toBe(true), { timeout: 20_000 })
  const late = await makeKey('late')
  await vi.waitFor(async () =>
    expect(await codesOf([late.secret])).toEqual(['api_key_blocked', 'api_key_blocked']),
  )
  expect(await codesOf([key, blocked.secret])).toEqual(new Array(4).fill('api_key_blocked'))
  expect(await codesOf([revoked.secret])).toEqual(['invalid_api_key', 'invalid_api_key'])

  goOn()
  for (const { ended } of streams) expect(await ended).toBe('whole')
  const books = await settledBooks(stack, view, organizationId, {
    openingNano: balanceNano,
    requests: streamCount,
  })
  for (const { requestId } of streams) expect(books.get(requestId)).toMatchObject({ costNano: wholeCost })

  await vi.waitFor(async () => expect(await change('unblock')).toBe(true), { timeout: 20_000 })
  const served = new Array(2).fill('model_not_found')
  const never = [...new Array(2).fill('api_key_blocked'), ...new Array(2).fill('invalid_api_key')]
  expect(await codesOf([key, late.secret, blocked.secret, revoked.secret])).toEqual([
    ...served,
    ...served,
    ...never,
  ])
})
