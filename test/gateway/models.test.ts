import { randomBytes } from 'node:crypto'
import OpenAI from 'openai'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { writeKey } from '#core/keys/key'
import { blockKey } from '#core/keys/key-store'
import { shardOf } from '#core/redis/shard'
import { type Customer, pepper } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { stackOfThisFile, untilOpen, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
let gateway: Process
let customer: Customer
let client: OpenAI
let chat: string
let embedding: string
let closed: string

beforeAll(async () => {
  customer = await stack.createCustomer()
  const other = await stack.createCustomer()
  chat = await stack.createModel()
  embedding = await stack.createModel({ type: 'embedding', model: 'deep/name:with/é' })
  closed = await stack.createModel({ organizations: [other.organizationId] })
  await stack.startWorker()
  gateway = await stack.startGateway()
  await untilOpen(gateway)
  await untilServed(gateway, customer.key, chat)
  client = clientOf(customer.key)
})

function clientOf(key: string): OpenAI {
  return new OpenAI({ baseURL: gateway.baseUrl, apiKey: key, maxRetries: 0 })
}

async function idsFor(openai: OpenAI): Promise<readonly string[]> {
  const ids = []
  for await (const { id } of openai.models.list()) ids.push(id)
  return ids
}

async function get(path: string, key = customer.key) {
  const response = await fetch(`${gateway.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } })
  const body = (await response.json()) as {
    readonly id?: string
    readonly error: { readonly [field: string]: string }
  }
  return { status: response.status, headers: response.headers, body }
}

/** A key that the gateway knows by now. */
async function knownKey(options: Parameters<typeof stack.createCustomer>[0] = {}): Promise<Customer> {
  const made = await stack.createCustomer(options)
  await vi.waitFor(async () => expect((await get('/models', made.key)).status).not.toBe(401), {
    timeout: 10_000,
  })
  return made
}

describe('the official SDK', () => {
  test('lists the models that this key may use, for chat and for embeddings, by name', async () => {
    expect(await idsFor(client)).toEqual([embedding, chat])
    const { key } = await knownKey({ allowedModels: ['deep/*', closed] })
    expect(await idsFor(clientOf(key))).toEqual([embedding])
  })

  test('gets one model, whose slash it encodes', async () => {
    const model = await client.models.retrieve(chat)
    expect(model).toMatchObject({ id: chat, object: 'model', owned_by: 'test' })
    expect(Math.abs(model.created - Date.now() / 1000)).toBeLessThan(600)
    expect((await client.models.retrieve(embedding)).id).toBe(embedding)
  })

  test('gets model_not_found for one that does not exist, is closed to it, or is not on its key’s list', async () => {
    await expect(client.models.retrieve('test/none')).rejects.toThrow(OpenAI.NotFoundError)
    await expect(client.models.retrieve(closed)).rejects.toThrow(OpenAI.NotFoundError)
    const { key } = await knownKey({ allowedModels: ['deep/*'] })
    await expect(clientOf(key).models.retrieve(chat)).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    })
  })
})

test('an id is found with its slash as it is and encoded, once; longer than any model it is 404, not a crash', async () => {
  const { body } = await get(`/models/${chat}`)
  expect(Object.keys(body).toSorted()).toEqual(['created', 'id', 'object', 'owned_by'])
  expect((await get(`/models/${chat.replace('/', '%2F')}?x=1`)).body).toEqual(body)
  expect((await get('/models/deep%2Fname:with/%C3%A9')).body.id).toBe(embedding)
  expect((await get(`/models/${chat.replace('/', '%252F')}`)).body.error.code).toBe('model_not_found')
  expect((await get(`/models/x/${'y'.repeat(2000)}`)).body.error.code).toBe('model_not_found')
})

test('the error of a wrong address under /v1/models explains the problem', async () => {
  const slash = await get('/models/')
  expect([slash.status, slash.body.error.message]).toEqual([
    404,
    expect.stringContaining('Remove the trailing slash'),
  ])
  expect((await get('/models/%ZZ')).body.error.code).toBe('unknown_url')
  const posted = await fetch(`${gateway.baseUrl}/models`, { method: 'POST', body: '{}' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
  await posted.arrayBuffer()
})

test('what is wrong with the key comes first, for the list and for a model that is not there', async () => {
  const unknown = writeKey(shardOf('nobody'), randomBytes(32), pepper)
  const poor = await knownKey({ balanceNano: 0n })
  const blocked = await knownKey()
  await inTestScope(stack.database.pool, (client) => blockKey(client, blocked.keyId, 'owner'))
  await vi.waitFor(async () => expect((await get('/models', blocked.key)).status).toBe(403), {
    timeout: 10_000,
  })
  for (const path of ['/models', '/models/test/none', '/models/']) {
    const answers = await Promise.all([unknown, poor.key, blocked.key].map((key) => get(path, key)))
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual([
      [401, 'invalid_api_key'],
      [402, 'insufficient_balance'],
      [403, 'api_key_blocked'],
    ])
    for (const { headers, body } of answers)
      expect(body.error.request_id).toBe(headers.get('x-gateway-request-id'))
  }
})

test('while Redis is unavailable the list is 503 with Retry-After, never 401', async () => {
  stack.redis.freeze()
  const { status, headers, body } = await get('/models')
  stack.redis.thaw()
  expect([status, body.error.code, headers.get('retry-after')]).toEqual([503, 'service_unavailable', '1'])
})
