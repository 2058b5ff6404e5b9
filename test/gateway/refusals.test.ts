import { randomBytes } from 'node:crypto'
import OpenAI from 'openai'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { writeKey } from '#core/keys/key'
import { blockKey, revokeKey, rotateKey, unblockKey } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { shardOf, shardPrefix } from '#core/redis/shard'
import type { ModelFields } from '../support/catalog.ts'
import { type Customer, pepper, uuidV7 } from '../support/customer.ts'
import { createKeyOf, createMember, setMemberBudget } from '../support/member.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { type CustomerOptions, post, stackOfThisFile, untilOpen, untilServed } from '../support/stack.ts'
import { refusal } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  await untilOpen(gateway)
})

type Answer = { readonly status: number; readonly headers: Headers; readonly error: ErrorBody }
type ErrorBody = {
  readonly type: string
  readonly code: string
  readonly param: string | null
  readonly source: string
  readonly message: string
  readonly request_id: string
  readonly limit?: number | string
  readonly used?: number | string
  readonly resets_at?: string
}

const messages = [{ role: 'user', content: 'Say hello' }]

async function ask(
  key: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await post(gateway, key, { messages, ...body }, headers)
  const { error } = (await response.json()) as { error: ErrorBody }
  return { status: response.status, headers: response.headers, error }
}

/** A separate customer and a separate model, both known to the gateway. */
async function served(
  options: CustomerOptions = {},
  fields: ModelFields = {},
): Promise<Customer & { model: string }> {
  const model = await stack.createModel(fields)
  const customer = await stack.createCustomer(options)
  await untilServed(gateway, customer.key, model)
  return { ...customer, model }
}

async function untilAnswered(key: string, model: string, code: string | undefined): Promise<Answer> {
  return vi.waitFor(
    async () => {
      const answer = await ask(key, { model })
      expect(answer.error?.code).toBe(code)
      return answer
    },
    { timeout: 10_000, interval: 20 },
  )
}

/** Every answer that a client may see has the one shape and its ids. */
function expectShape({ status, headers, error }: Answer): void {
  expect(headers.get('content-type')).toBe('application/json')
  expect(error.request_id).toBe(headers.get('x-gateway-request-id'))
  expect(headers.get('x-request-id')).toBe(error.request_id)
  expect(Object.keys(error)).toEqual(
    expect.arrayContaining(['message', 'type', 'param', 'code', 'source', 'request_id']),
  )
  if (status !== 401) expect(headers.get('x-ratelimit-limit-rpm')).toMatch(/^\d+$/)
  if (status === 429 || status >= 500)
    expect(headers.has('retry-after') || headers.get('x-should-retry') === 'false').toBe(true)
}

describe('a key', () => {
  test('that was never made is 401 invalid_api_key, with a challenge', async () => {
    const answer = await ask(writeKey(shardOf('nobody'), randomBytes(32), pepper), { model: 'test/any' })
    expect(answer).toMatchObject({
      status: 401,
      error: { type: 'authentication_error', code: 'invalid_api_key', source: 'client' },
    })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    expectShape(answer)
  })

  test('that has expired is 401 expired_api_key', async () => {
    const model = await stack.createModel()
    const { key } = await stack.createCustomer({ expiresAt: new Date(Date.now() - 1000) })
    expectShape(await untilAnswered(key, model, 'expired_api_key'))
    expect((await ask(key, { model })).status).toBe(401)
  })

  test('that was rotated out is 401 invalid_api_key, and by then its successor works', async () => {
    const { key, keyId, model } = await served()
    const next = await inTestScope(stack.database.pool, (client) => rotateKey(client, keyId, 0, pepper))
    expect((await untilAnswered(key, model, 'invalid_api_key')).status).toBe(401)
    expect((await post(gateway, next.secret, { model, messages })).status).toBe(200)
    expect((await ask(key, { model })).status).toBe(401)
  })

  test('lives on for the grace time of its rotation', async () => {
    const { key, keyId, model } = await served()
    const next = await inTestScope(stack.database.pool, (client) => rotateKey(client, keyId, 3600, pepper))
    await vi.waitFor(async () =>
      expect((await post(gateway, next.secret, { model, messages })).status).toBe(200),
    )
    expect((await post(gateway, key, { model, messages })).status).toBe(200)
  })

  test('that was revoked is 401 invalid_api_key', async () => {
    const { key, keyId, model } = await served()
    await inTestScope(stack.database.pool, (client) => revokeKey(client, keyId))
    expect((await untilAnswered(key, model, 'invalid_api_key')).status).toBe(401)
  })

  test.each(['owner', 'admin', 'kubernetes'] as const)(
    'blocked by its %s is 403 api_key_blocked, until that block is lifted',
    async (by) => {
      const { key, keyId, model } = await served()
      await inTestScope(stack.database.pool, (client) => blockKey(client, keyId, by))
      const answer = await untilAnswered(key, model, 'api_key_blocked')
      expect(answer).toMatchObject({ status: 403, error: { type: 'permission_error', source: 'client' } })
      expectShape(answer)
      await inTestScope(stack.database.pool, (client) => unblockKey(client, keyId, by))
      await vi.waitFor(async () => expect((await post(gateway, key, { model, messages })).status).toBe(200))
    },
  )

  test('of an organization without money is 402 insufficient_balance, and a top-up reactivates it', async () => {
    const model = await stack.createModel()
    const { key, organizationId } = await stack.createCustomer({ balanceNano: 0n })
    const answer = await untilAnswered(key, model, 'insufficient_balance')
    expect(answer).toMatchObject({ status: 402, error: { type: 'insufficient_quota', source: 'client' } })
    expectShape(answer)
    await inTestScope(stack.database.pool, (client) =>
      credit(client, {
        organizationId,
        kind: 'top_up',
        refId: uuidV7(),
        amount: nanoRub(1_000_000_000n),
      }),
    )
    await vi.waitFor(async () => expect((await post(gateway, key, { model, messages })).status).toBe(200))
  })

  test('may not use a model outside its list: 403 model_not_allowed', async () => {
    const { key, model } = await served()
    const other = await stack.createCustomer({ allowedModels: ['elsewhere/*', 'test/other'] })
    const answer = await untilAnswered(other.key, model, 'model_not_allowed')
    expect(answer).toMatchObject({ status: 403, error: { type: 'permission_error', param: 'model' } })
    expectShape(answer)
    expect((await post(gateway, key, { model, messages })).status).toBe(200)
  })

  test('may use a whole provider by provider/*', async () => {
    const { key, model } = await served({ allowedModels: ['test/*'] })
    expect((await post(gateway, key, { model, messages })).status).toBe(200)
  })
})

describe('a limit', () => {
  test('RPM: the request after the last one is 429 rate_limit_exceeded and uses nothing up', async () => {
    const { key, model } = await served({ rpm: 3 })
    for (const remaining of ['2', '1', '0']) {
      const { status, headers } = await post(gateway, key, { model, messages })
      expect([status, headers.get('x-ratelimit-remaining-rpm')]).toEqual([200, remaining])
    }
    for (let n = 0; n < 3; n++) {
      const answer = await ask(key, { model })
      expect(answer).toMatchObject({
        status: 429,
        error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', limit: 3, used: 3 },
      })
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(answer.headers.get('x-ratelimit-remaining-rpm')).toBe('0')
      expectShape(answer)
    }
  })

  test('RPM: a request for which no provider could be asked uses none of it', async () => {
    const { key, model } = await served({ rpm: 3 })
    const other = await stack.createModel()
    await untilServed(gateway, key, other)
    stack.upstream.answer(model, { status: 429, headers: { 'retry-after': '30' }, steps: [{ send: '{}' }] })
    for (const attempts of ['1', '0', '0', '0', '0']) {
      const { status, headers } = await ask(key, { model })
      expect([status, headers.get('x-gateway-attempts')]).toEqual([503, attempts])
    }
    const { status, headers } = await post(gateway, key, { model: other, messages })
    expect([status, headers.get('x-ratelimit-remaining-rpm')]).toEqual([200, '1'])
  })

  test('a request that its own deadline leaves no time for is 504, blames no provider and stays in RPM', async () => {
    const { key, model } = await served({ rpm: 2 })
    const answer = await ask(key, { model }, { 'x-gateway-timeout-ms': '1' })
    expect(answer).toMatchObject({ status: 504, error: { code: 'upstream_timeout', source: 'gateway' } })
    expect(answer.error.message).not.toContain('attempts')
    expect(answer.headers.get('x-gateway-attempts')).toBe('0')
    expect(stack.upstream.requestsFor(model)).toHaveLength(0)
    const { headers } = await post(gateway, key, { model, messages })
    expect(headers.get('x-ratelimit-remaining-rpm')).toBe('0')
  })

  test('RPM: after a burst an SDK tries again, within a minute', async () => {
    const { key, model } = await served({ rpm: 1 })
    const waits: (string | null)[] = []
    const client = new OpenAI({
      baseURL: gateway.baseUrl,
      apiKey: key,
      maxRetries: 1,
      async fetch(...sent) {
        const { status, headers, body } = await fetch(...sent)
        waits.push(headers.get('retry-after'))
        return new Response(body, { status, headers: [...headers, ['retry-after-ms', '1']] }) // a shorter minute
      },
    })
    const chat = () =>
      client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] })
    await chat()
    await expect(chat()).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(waits).toHaveLength(3)
    for (const wait of waits.slice(1)) expect(Number(wait)).toBeLessThanOrEqual(60)
  })

  test('RPM: a body that is rejected before it is read gets the wait of a short one', async () => {
    const { key, model } = await served({ rpm: 1 })
    expect((await post(gateway, key, { model, messages })).status).toBe(200)
    const waits = ['short', 'long'.repeat(10_000)].map(async (content) => {
      const { status, headers } = await post(gateway, key, { model, messages: [{ role: 'user', content }] })
      expect(status).toBe(429)
      return Number(headers.get('retry-after'))
    })
    const [short = 0, long = 0] = await Promise.all(waits)
    expect(long).toBeGreaterThan(30)
    expect(Math.abs(short - long)).toBeLessThanOrEqual(1)
  })

  test('TPM: a request that does not fit any more is 429; one above the whole limit is 400', async () => {
    const { key, model } = await served({ tpm: 2000 })
    expect((await post(gateway, key, { model, messages, max_tokens: 1500 })).status).toBe(200)
    // Settle gave back what was not used, so hold the window with an answer that used it.
    stack.upstream.answer(model, usageAnswer(10, 1500))
    expect((await post(gateway, key, { model, messages, max_tokens: 1500 })).status).toBe(200)
    const answer = await ask(key, { model, max_tokens: 1500 })
    expect(answer).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded', limit: 2000 } })
    expectShape(answer)
    const tooLarge = await ask(key, { model, max_tokens: 2001 })
    expect(tooLarge).toMatchObject({
      status: 400,
      error: { code: 'request_too_large_for_tpm', type: 'invalid_request_error' },
    })
    expectShape(tooLarge)
  })

  test('daily budget: spent is 429 daily_budget_exceeded until midnight in Moscow, and SDKs do not retry', async () => {
    const { key, model } = await served({ dailyBudgetNano: nanoRub(1_600_000n) }, { contextLength: 100 })
    stack.upstream.answer(model, usageAnswer(100, 20)) // 100 × 10,000 + 20 × 30,000: all that was held
    expect((await post(gateway, key, { model, messages, max_tokens: 20 })).status).toBe(200)
    const answer = await ask(key, { model })
    expect(answer).toMatchObject({
      status: 429,
      error: { type: 'insufficient_quota', code: 'daily_budget_exceeded', limit: '0.0016' },
    })
    expect(answer.headers.get('x-should-retry')).toBe('false')
    const resetsAt = new Date(answer.error.resets_at ?? '')
    expect((resetsAt.getTime() + 3 * 3_600_000) % 86_400_000).toBe(0)
    expect(resetsAt.getTime()).toBeGreaterThan(Date.now() - 60_000)
    expectShape(answer)
  })

  test("a member's budget that another of the member's keys has spent is 402 and names it", async () => {
    const { organizationId, model } = await served({}, { contextLength: 100 })
    const userId = await createMember(stack.database.pool, organizationId)
    const [first, second] = [
      await createKeyOf(stack.database.pool, organizationId, userId),
      await createKeyOf(stack.database.pool, organizationId, userId),
    ]
    await setMemberBudget(stack.database.pool, organizationId, userId, 1_600_000n)
    for (const { key } of [first, second]) await untilServed(gateway, key, model)
    stack.upstream.answer(model, usageAnswer(100, 20))
    await vi.waitFor(async () => {
      const limits = await view.ask((redis) =>
        redis.hget(`${shardPrefix(shardOf(organizationId))}key:${first.keyId}`, 'budgets'),
      )
      expect(limits).toBe(`${userId}:m:1600000`)
    })
    expect((await post(gateway, first.key, { model, messages, max_tokens: 20 })).status).toBe(200)
    const answer = await ask(second.key, { model })
    expect(answer).toMatchObject({
      status: 402,
      error: {
        type: 'insufficient_quota',
        code: 'budget_exceeded',
        budget: 'member',
        period: 'month',
        limit: '0.0016',
        used: '0.0016',
      },
    })
    expect(answer.error.message).toContain(
      'The member who created this API key has used up its monthly budget',
    )
    expectShape(answer)
  })

  test.each([
    ['weeklyBudgetNano', 'week'],
    ['monthlyBudgetNano', 'month'],
    ['totalBudgetNano', 'total'],
  ] as const)('%s: spent is 402 budget_exceeded, also after Redis lost everything', async (name, period) => {
    const { key, model, organizationId } = await served(
      { [name]: nanoRub(1_600_000n) },
      { contextLength: 100 },
    )
    stack.upstream.answer(model, usageAnswer(100, 20))
    expect((await post(gateway, key, { model, messages, max_tokens: 20 })).status).toBe(200)
    const answer = await ask(key, { model })
    const spent = {
      status: 402,
      error: {
        type: 'insufficient_quota',
        code: 'budget_exceeded',
        budget: 'key',
        period,
        limit: '0.0016',
        used: '0.0016',
        held: '0',
      },
    }
    expect(answer).toMatchObject(spent)
    expect(answer.headers.get('x-should-retry')).toBe('false')
    if (period === 'total') expect(answer.error.resets_at).toBeUndefined()
    else expect(Date.parse(answer.error.resets_at ?? '')).toBeGreaterThan(Date.now())
    expectShape(answer)

    await vi.waitFor(async () => {
      const { records } = await stack.readBooks(organizationId)
      expect(records.size).toBe(1)
    })
    await view.ask((redis) => redis.flushall())
    await vi.waitFor(async () => expect(await ask(key, { model })).toMatchObject(spent), { timeout: 15_000 })
  })

  test('balance and budget held by a running request are 429 …_reserved, and free again after it', async () => {
    for (const [options, code] of [
      [{ balanceNano: 1_000_000n }, 'balance_reserved'],
      [{ dailyBudgetNano: nanoRub(1_000_000n) }, 'budget_reserved'],
    ] as const) {
      const { key, model } = await served(options, { contextLength: 40 })
      stack.upstream.answer(model, { silentMs: 600, steps: [{ send: usageJson(1, 1) }] }, usageAnswer(1, 1))
      const running = post(gateway, key, { model, messages })
      await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(1))
      const answer = await ask(key, { model })
      expect(answer).toMatchObject({ status: 429, error: { type: 'rate_limit_error', code } })
      expect(answer.headers.get('retry-after')).toBe('1')
      expectShape(answer)
      expect((await running).status).toBe(200)
      expect((await post(gateway, key, { model, messages })).status).toBe(200)
    }
  })

  test('the caller’s own cap: more expensive than x-gateway-max-cost-rub is 402 before any provider is called', async () => {
    const { key, model } = await served()
    const answer = await ask(key, { model }, { 'x-gateway-max-cost-rub': '0.000001' })
    expect(answer).toMatchObject({ status: 402, error: { code: 'request_exceeds_max_cost' } })
    expectShape(answer)
    expect(stack.upstream.requestsFor(model)).toHaveLength(0)
    const limited = { model, messages, max_tokens: 100 }
    expect((await post(gateway, key, limited, { 'x-gateway-max-cost-rub': '1' })).status).toBe(200)
  })

  test('the caller’s own cap holds without max_tokens: against the model’s own limit, or it is 402', async () => {
    const cap = { 'x-gateway-max-cost-rub': '0.05' }
    const unlimited = await served({}, { contextLength: null, maxOutputTokens: null })
    const answer = await ask(unlimited.key, { model: unlimited.model }, cap)
    expect(answer).toMatchObject({ status: 402, error: { code: 'request_exceeds_max_cost' } })
    expect(answer.error.message).toContain('Set max_tokens')
    expect(stack.upstream.requestsFor(unlimited.model)).toHaveLength(0)
    const small = await stack.createModel({ maxOutputTokens: 1_000 }) // 0.03 ₽ of output
    const large = await stack.createModel({ maxOutputTokens: 2_000 })
    for (const model of [small, large]) await untilServed(gateway, unlimited.key, model)
    expect((await post(gateway, unlimited.key, { model: small, messages }, cap)).status).toBe(200)
    expect((await post(gateway, unlimited.key, { model: large, messages }, cap)).status).toBe(402)
  })

  test('the caller’s own cap counts what is there besides the text by its bytes, up to the context', async () => {
    const { key, model } = await served({}, { inputNano: 10_000n })
    const short = await stack.createModel({ contextLength: 1_000 })
    await untilServed(gateway, key, short)
    const cap = { 'x-gateway-max-cost-rub': '0.05' } // 5,000 tokens of input, or 1,666 of output
    const documents = [{ text: 'word '.repeat(2_000) }]
    const file = { type: 'file', file: { file_data: `data:application/pdf;base64,${'A'.repeat(10_000)}` } }
    const attached = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, file] }]
    for (const dear of [{ documents }, { messages: attached }]) {
      const answer = await ask(key, { model, max_tokens: 5, ...dear }, cap)
      expect(answer).toMatchObject({ status: 402, error: { code: 'request_exceeds_max_cost' } })
      await post(gateway, key, { model: short, messages, max_tokens: 5, ...dear }, cap)
    }
    expect(stack.upstream.requestsFor(model)).toHaveLength(0)
    expect(stack.upstream.requestsFor(short)).toHaveLength(2)
    await post(gateway, key, { model, messages, max_tokens: 5, documents })
    expect(stack.upstream.requestsFor(model)).toHaveLength(1)
  })

  test('the caller’s own cap keeps a more expensive fallback from standing in', async () => {
    const fallback = await stack.createModel({ outputNano: 30_000_000n })
    const { key, model } = await served({}, { fallbacks: [fallback] })
    await untilServed(gateway, key, fallback)
    stack.upstream.answer(model, refusal(500, 'broken'))
    const limited = { model, messages, max_tokens: 5 }
    expect((await post(gateway, key, limited, { 'x-gateway-max-cost-rub': '0.05' })).status).toBe(502)
    expect(stack.upstream.requestsFor(fallback)).toHaveLength(0)
    expect((await post(gateway, key, limited, { 'x-gateway-max-cost-rub': '1' })).status).toBe(200)
  })

  test('the caller’s own cap and TPM count the limit that the model is sent, not one that its route takes away', async () => {
    const cap = { 'x-gateway-max-cost-rub': '0.05' }
    const drops = {
      parameters: { drop: ['max_tokens'], rename: {}, defaults: {} },
      contextLength: null,
      maxOutputTokens: null,
    }
    const { key, model } = await served({ tpm: 1500 }, drops)
    const unbounded = await ask(key, { model, max_tokens: 1 }, cap)
    expect(unbounded).toMatchObject({ status: 402, error: { code: 'request_exceeds_max_cost' } })
    expect(unbounded.error.message).toContain('is not sent to this model')
    expectShape(unbounded)
    expect(await ask(key, { model, max_completion_tokens: 1600 })).toMatchObject({ status: 400 })
    const filled = { parameters: { drop: ['max_tokens'], rename: {}, defaults: { max_tokens: 1600 } } }
    const others = await stack.createModel(filled)
    await untilServed(gateway, key, others)
    expect(await ask(key, { model: others, max_tokens: 1 })).toMatchObject({
      status: 400,
      error: { code: 'request_too_large_for_tpm' },
    })
    const bounded = await ask(key, { model: others, max_tokens: 1 }, { 'x-gateway-max-cost-rub': '0.04' })
    expect(bounded).toMatchObject({ status: 402, error: { code: 'request_exceeds_max_cost' } })
    for (const route of [model, others]) expect(stack.upstream.requestsFor(route)).toHaveLength(0)
    const kept = await post(gateway, key, { model, messages, max_completion_tokens: 10 }, cap)
    expect(kept.status).toBe(200)
  })
})

describe('a model', () => {
  test('that does not exist is 404 model_not_found; with a wrong key it is 401', async () => {
    const { key } = await served()
    const answer = await ask(key, { model: 'test/nothing' })
    expect(answer).toMatchObject({ status: 404, error: { code: 'model_not_found', param: 'model' } })
    expectShape(answer)
    const stranger = writeKey(shardOf('nobody'), randomBytes(32), pepper)
    expect((await ask(stranger, { model: 'test/nothing' })).status).toBe(401)
  })

  test('for embeddings is 400 wrong_model_type in a chat', async () => {
    const { key } = await served()
    const model = await stack.createModel({ type: 'embedding' })
    const answer = await untilAnswered(key, model, 'wrong_model_type')
    expect(answer).toMatchObject({ status: 400, error: { param: 'model' } })
    expectShape(answer)
  })

  test('of other organizations is 404, like one that does not exist', async () => {
    const insider = await served()
    const model = await stack.createModel({ organizations: [insider.organizationId] })
    await untilServed(gateway, insider.key, model)
    expect((await post(gateway, insider.key, { model, messages })).status).toBe(200)
    const outsider = await served()
    expect((await ask(outsider.key, { model })).error.code).toBe('model_not_found')
  })
})

describe('a provider', () => {
  const cases = [
    ['fails', { status: 500, steps: [{ send: '{"error":{"message":"boom"}}' }] }, 502, 'upstream_error'],
    [
      'says our credential is wrong',
      { status: 401, steps: [{ send: '{"error":{"message":"bad sk-secret12345678"}}' }] },
      502,
      'upstream_error',
    ],
    [
      'limits us',
      { status: 429, headers: { 'retry-after': '7' }, steps: [{ send: '{}' }] },
      503,
      'upstream_overloaded',
    ],
    ['says nothing in time', { silentMs: 'forever' }, 504, 'upstream_timeout'],
    ['cuts the connection', { raw: '' }, 502, 'upstream_error'],
    [
      'finds the prompt too long',
      {
        status: 400,
        steps: [
          {
            send: '{"error":{"message":"This model\'s maximum context length is 10 tokens","code":"context_length_exceeded"}}',
          },
        ],
      },
      400,
      'context_length_exceeded',
    ],
    [
      'refuses by its content policy',
      { status: 400, steps: [{ send: '{"error":{"message":"no","code":"content_policy_violation"}}' }] },
      400,
      'content_policy_violation',
    ],
  ] as const

  test.each(cases)(
    'that %s: one shape, nothing charged, a record left where it was called',
    async (_what, script, status, code) => {
      const { key, model, organizationId } = await served(
        {},
        { timeouts: { requestMs: 600, firstByteMs: 300, streamIdleMs: 300 } },
      )
      stack.upstream.answer(model, script)
      for (const stream of [false, true]) {
        const answer = await ask(key, { model, stream })
        expect(answer).toMatchObject({ status, error: { code, source: 'upstream' } })
        expect(JSON.stringify(answer.error)).not.toContain('sk-secret')
        expectShape(answer)
        expect(answer.headers.get('x-gateway-cost-rub')).toBe('0')
        if (code === 'upstream_overloaded') expect(answer.headers.get('retry-after')).toBe('7')
        const wasCalled = answer.headers.get('x-gateway-attempts') !== '0' // it may have asked for rest
        await vi.waitFor(async () => {
          const books = await stack.readBooks(organizationId)
          expect(books.records.get(answer.error.request_id)?.cost).toBe(wasCalled ? 0n : undefined)
          expect(books.costs.size).toBe(0)
        })
      }
    },
  )
})

function usageJson(prompt: number, completion: number): string {
  return JSON.stringify({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  })
}

function usageAnswer(prompt: number, completion: number) {
  return { headers: { 'content-type': 'application/json' }, steps: [{ send: usageJson(prompt, completion) }] }
}
