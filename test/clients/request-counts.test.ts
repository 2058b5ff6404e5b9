import { beforeAll, describe, expect, test, vi } from 'vitest'
import { blockKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { post } from '../support/stack.ts'
import { pausedAnswer, refusal, type Script, streamed } from '../support/upstream.ts'
import { createClaudeCode } from './claude-code.ts'
import { clientsOfThisFile, runProgram, type Served } from './clients.ts'
import { createCodex } from './codex.ts'

const { stack, serve } = await clientsOfThisFile()
let smallGateway: Process

beforeAll(async () => {
  smallGateway = await stack.startGateway({ GATEWAY_BODY_BYTES_MAX: '16384' })
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
    what: 'a failed provider',
    status: 502,
    shown: /provider/,
    codexShown: overloaded,
    answer: refusal(500, 'boom'),
  },
]

/** All that the budget has, in one request. */
async function spendBudget({ model, key, baseUrl }: Served): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
  expect((await post({ baseUrl }, key, body)).status).toBe(200)
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

test('Codex waits for a moment that is named to it, and is served', async () => {
  const served = await serve('OpenAI', [], {
    fields: { outputNano: 1_000_000n },
    customer: { balanceNano: 1_200_000_000n },
  })
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(served.backendModel, answer, streamed(['Hello']))
  const { model, key, baseUrl } = served
  const holds = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1_000 }
  const running = post({ baseUrl }, key, holds)
  await vi.waitFor(() => expect(stack.upstream.requestsFor(served.backendModel)).toHaveLength(1))
  const before = served.requests.length
  const codex = (await createCodex(served)).exec('Hello')
  await vi.waitFor(() => expect(sentSince(served, before)).toEqual([['/v1/responses', 200]]))
  goOn()
  expect((await running).status).toBe(200)
  const { exitCode, stdout } = await codex
  expect(exitCode).toBe(0)
  expect(stdout).toContain('try again in 1s')
  expect(sentSince(served, before)).toHaveLength(2)
})

test('an unknown key is six requests of Codex, which repeats every 401', async () => {
  const served = await serve('OpenAI', [])
  const codex = await createCodex({ ...served, key: served.key.replace(/.{8}$/, 'aaaaaaaa') })
  expect((await codex.exec('Hello')).exitCode).toBe(1)
  expect(sentSince(served, 0)).toEqual(Array(6).fill(['/v1/responses', 401]))
})
