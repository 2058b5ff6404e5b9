import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { blockKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { type CustomerOptions, post } from '../support/stack.ts'
import { pausedAnswer, refusal, type Script, streamed } from '../support/upstream.ts'
import { createClaudeCode } from './claude-code.ts'
import { clientsOfThisFile, runProgram, type Served } from './clients.ts'
import { createCodex } from './codex.ts'

const { stack, serve } = await clientsOfThisFile()
let smallGateway: Process

beforeAll(async () => {
  smallGateway = await stack.startGateway({ ...patient, GATEWAY_BODY_BYTES_MAX: '16384' })
})

type Options = Omit<NonNullable<Parameters<typeof serve>[2]>, 'gateway'>

type Rejection = {
  readonly what: string
  readonly status: number
  /** Part of the text that users of every client see. */
  readonly shown: RegExp
  /** Of Codex and Claude Code, which have their own words for some errors. */
  readonly codexShown?: RegExp
  readonly claudeShown?: RegExp
  readonly options?: Options
  readonly at?: () => Process
  readonly answer?: Script
  readonly prepare?: (served: Served) => Promise<unknown>
  readonly break?: (served: Served) => Served
}

const quota = /Quota exceeded/
const overloaded = /at capacity/

const rejections: readonly Rejection[] = [
  {
    what: 'no money',
    status: 402,
    shown: /balance/,
    codexShown: quota,
    options: { customer: { balanceNano: 0n } },
  },
  {
    what: 'too little money',
    status: 402,
    shown: /balance/,
    codexShown: quota,
    options: { customer: { balanceNano: 1_000n } },
  },
  {
    what: 'a request above the daily budget',
    status: 402,
    shown: /budget/,
    codexShown: quota,
    options: { customer: { dailyBudgetNano: nanoRub(1_000n) } },
  },
  {
    what: 'a spent daily budget',
    status: 429,
    shown: /budget/,
    codexShown: quota,
    options: { customer: { dailyBudgetNano: nanoRub(1_150_000n) }, fields: { contextLength: 100 } },
    prepare: spendBudget,
  },
  {
    what: 'a model that the key may not use',
    status: 403,
    shown: /not allowed|may not use/,
    options: { customer: { allowedModels: ['other/*'] } },
  },
  {
    what: 'a blocked key',
    status: 403,
    shown: /blocked/,
    prepare: block,
  },
  {
    what: 'an unknown model',
    status: 404,
    shown: /does not exist|not found|no model/i,
    break: (served) => ({ ...served, model: 'none/at-all' }),
  },
  { what: 'a body that is too large', status: 413, shown: /larger|large/, at: () => smallGateway },
  {
    what: 'a prompt that is too long',
    status: 400,
    shown: /too long/,
    codexShown: /context window/,
    answer: refusal(400, 'too long', { code: 'context_length_exceeded' }),
  },
  {
    what: 'a request above the TPM of its key',
    status: 400,
    shown: /tokens per minute/,
    options: { customer: { tpm: 100 } },
  },
  {
    what: 'a prompt that the provider rejects',
    status: 400,
    shown: /content policy|flagged/,
    answer: refusal(400, 'flagged', { code: 'content_filter' }),
  },
  {
    what: 'a failed provider',
    status: 502,
    shown: /provider/,
    codexShown: overloaded,
    answer: refusal(500, 'boom'),
  },
  {
    what: 'a provider that is silent',
    status: 504,
    shown: /time|did not respond/,
    codexShown: overloaded,
    options: { fields: { timeouts: { requestMs: 1_000, firstByteMs: 300, streamIdleMs: 300 } } },
    answer: { silentMs: 'forever' },
  },
]

const unknownKey = (served: Served) => ({ ...served, key: served.key.replace(/.{8}$/, 'aaaaaaaa') })

/** All that the budget has, in one request. */
async function spendBudget(served: Served): Promise<void> {
  expect((await post(served, served.key, { ...helloTo(served), max_tokens: 5 })).status).toBe(200)
}

async function block({ model, key, keyId, baseUrl }: Served): Promise<void> {
  await inTestScope(stack.database.pool, (client) => blockKey(client, keyId, 'owner'))
  await vi.waitFor(async () => expect((await post({ baseUrl }, key, { model })).status).toBe(403))
}

/** A model that is about to be rejected. */
async function prepare({
  options = {},
  at,
  answer,
  prepare: before,
  break: change,
}: Rejection): Promise<Served> {
  const turn = { text: 'Hello', inputTokens: 100 }
  const served = await serve('OpenAI', [turn], { ...options, ...(at === undefined ? {} : { gateway: at() }) })
  if (answer !== undefined) stack.upstream.answer(served.backendModel, answer)
  await before?.(served)
  return change?.(served) ?? served
}

const sentSince = (served: Served, before: number) =>
  served.requests.slice(before).map(({ path, status }) => [path, status])

describe.each(rejections)('$what', (rejection) => {
  const { status, shown, codexShown = shown } = rejection

  test('is one request of Codex', async () => {
    const served = await prepare(rejection)
    const before = served.requests.length
    const { exitCode, stdout } = await (await createCodex(served)).exec('Hello')
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(codexShown)
    expect(sentSince(served, before)).toEqual([['/v1/responses', 200]])
  })

  test.each([
    ['agents-once.mjs', 'whole'],
    ['agents_once.py', 'streamed'],
  ])('is one request of the Agents SDK (%s, %s)', async (program, way) => {
    const served = await prepare(rejection)
    const before = served.requests.length
    const result = await runProgram(program, served, { WAY: way, REPEAT: '4000' })
    expect(result.shown).toMatch(shown)
    expect(sentSince(served, before)).toEqual([['/v1/responses', status]])
  })
})

/** It takes any other 400 and every 404 for an unsupported beta, and leaves out one after the other. */
const finalForClaude = rejections.filter(
  ({ status, what }) => ![400, 404].includes(status) || what === 'a prompt that is too long',
)

test.each(finalForClaude)('$what is one request of Claude Code', async (rejection) => {
  const served = await prepare(rejection)
  const before = served.requests.length
  const { stdout } = await (await createClaudeCode(served, 'ANTHROPIC_AUTH_TOKEN')).ask('Hello')
  expect(stdout).toMatch(rejection.claudeShown ?? rejection.shown)
  const sent = sentSince(served, before).filter(([path]) => path !== '/api/hello')
  expect(sent).toEqual([['/v1/messages?beta=true', rejection.status]])
})

test('providers that are all overloaded are one request of Codex', async () => {
  const served = await serve('OpenAI', [])
  stack.upstream.answer(served.backendModel, refusal(429, 'slow down'))
  const { exitCode, stdout } = await (await createCodex(served)).exec('Hello')
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(overloaded)
  expect(sentSince(served, 0)).toEqual([['/v1/responses', 200]])
})

/** Hold all the money of a customer until the test lets them go on. */
async function reservedBalance() {
  const served = await serve('OpenAI', [], {
    fields: { outputNano: 1_000_000n },
    customer: { balanceNano: 1_200_000_000n },
  })
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(served.backendModel, answer, streamed(['Hello']))
  const running = post(served, served.key, { ...helloTo(served), max_tokens: 1_000 })
  await vi.waitFor(() => expect(stack.upstream.requestsFor(served.backendModel)).toHaveLength(1))
  return {
    served,
    async release() {
      goOn()
      expect((await running).status).toBe(200)
    },
  }
}

const helloTo = ({ model }: Served) => ({ model, messages: [{ role: 'user', content: 'Hello' }] })

test('Codex waits for a moment that is named to it, and is served', async () => {
  const { served, release } = await reservedBalance()
  const before = served.requests.length
  const codex = (await createCodex(served)).exec('Hello')
  await vi.waitFor(() => expect(sentSince(served, before)).toEqual([['/v1/responses', 200]]))
  await release()
  const { exitCode, stdout } = await codex
  expect(exitCode).toBe(0)
  expect(stdout).toContain('try again in 1s')
  expect(sentSince(served, before)).toHaveLength(2)
})

describe('Claude Code waits for a moment that is named to it, and is served', () => {
  const asked = (served: Served, before: number) =>
    sentSince(served, before).flatMap(([path, status]) => (path === '/api/hello' ? [] : [status]))

  test('while running requests hold the balance', async () => {
    const { served, release } = await reservedBalance()
    const before = served.requests.length
    const asking = (await createClaudeCode(served)).ask('Hello')
    await vi.waitFor(() => expect(asked(served, before)).toEqual([429]), 20_000)
    await release()
    expect((await asking).result.result).toBe('Hello')
    expect(asked(served, before)).toEqual([429, 200])
  })

  test('while all providers are overloaded', async () => {
    const served = await serve('OpenAI', [])
    stack.upstream.answer(served.backendModel, refusal(429, 'slow down'), streamed(['Hello']))
    expect((await (await createClaudeCode(served)).ask('Hello')).result.result).toBe('Hello')
    expect(asked(served, 0)).toEqual([503, 200])
  })

  test('while Redis is unavailable', async () => {
    const served = await serve('OpenAI', [{ text: 'Hello' }])
    const claude = await createClaudeCode(served)
    stack.redis.freeze()
    onTestFinished(() => stack.redis.thaw())
    const asking = claude.ask('Hello')
    await vi.waitFor(() => expect(asked(served, 0)).toEqual([503]), 20_000)
    stack.redis.thaw()
    expect((await asking).result.result).toBe('Hello')
    expect(asked(served, 0)).toEqual([503, 200])
  })

  /** Of a minute, which both keys wait at the same time. */
  test('while the RPM or the TPM of its key is used up', async () => {
    const waits = async (customer: CustomerOptions, inputTokens: number) => {
      const served = await serve('OpenAI', [{ text: 'Hello', inputTokens }], { customer })
      const content = 'x '.repeat(inputTokens / 2)
      const used = { ...helloTo(served), messages: [{ role: 'user', content }], max_tokens: 5 }
      expect((await post(served, served.key, used)).status).toBe(200)
      const claude = await createClaudeCode(served, 'ANTHROPIC_API_KEY', { timeoutMs: 100_000 })
      expect((await claude.ask('Hello')).result.result).toBe('Hello')
      return asked(served, 1)
    }
    expect(await Promise.all([waits({ rpm: 1 }, 10), waits({ tpm: 110_000 }, 105_000)])).toEqual([
      [429, 200],
      [429, 200],
    ])
  }, 120_000)
})

test('an unknown key is one request of Claude Code, in either header, and of the Agents SDK', async () => {
  const served = unknownKey(await serve('OpenAI', []))
  for (const credential of ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY'] as const) {
    const { stdout } = await (await createClaudeCode(served, credential)).ask('Hello')
    expect(stdout).toMatch(/API key/)
  }
  await runProgram('agents-once.mjs', served, { WAY: 'whole' })
  await runProgram('agents_once.py', served, { WAY: 'streamed' })
  const sent = sentSince(served, 0).filter(([path]) => path !== '/api/hello')
  expect(sent).toEqual([
    ['/v1/messages?beta=true', 401],
    ['/v1/messages?beta=true', 401],
    ['/v1/responses', 401],
    ['/v1/responses', 401],
  ])
})

test('an unknown key is six requests of Codex, which repeats every 401', async () => {
  const served = await serve('OpenAI', [])
  const codex = await createCodex(unknownKey(served))
  expect((await codex.exec('Hello')).exitCode).toBe(1)
  expect(sentSince(served, 0)).toEqual(Array(6).fill(['/v1/responses', 401]))
})
