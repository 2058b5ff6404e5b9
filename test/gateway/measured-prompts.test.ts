import { beforeAll, describe, expect, test } from 'vitest'
import type { KeyLimits } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { goodStream, streamHeaders } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
})

const rub = 1_000_000_000n
/** 150 ₽ per 1M tokens of input. */
const prices = { inputNano: 150_000n, outputNano: 0n }
/** 54,000 bytes, some 8,000 tokens of o200k. */
const russian = 'Съешь ещё этих мягких французских булок. '.repeat(720)
const ask = (content: unknown) => ({ messages: [{ role: 'user', content }], max_tokens: 5 })

async function served(family: string, limits: KeyLimits & { readonly balanceNano?: bigint } = {}) {
  const model = await stack.createModel({
    ...prices,
    model: `${family.includes('/') ? family : `test/${crypto.randomUUID().slice(0, 8)}/${family}`}`,
  })
  const customer = await stack.createCustomer({ balanceNano: 2n * rub, ...limits })
  await untilServed(gateway, customer.key, model)
  return { ...customer, model }
}

async function statusOf(
  { key, model }: { readonly key: string; readonly model: string },
  body: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await post(gateway, key, { model, ...body }, headers)
  const { error } = (await response.json()) as { readonly error?: { readonly code: string } }
  return `${response.status} ${error?.code ?? ''}`.trim()
}

describe('a prompt whose bytes do not fit is measured', () => {
  test('by its tokenizer, and served where that fits', async () => {
    const measured = await served('gpt-4o')
    expect(await statusOf(measured, ask(russian))).toBe('200')
    const unmeasured = await served('some-model')
    expect(await statusOf(unmeasured, ask(russian)), 'nobody knows its tokens').toBe(
      '402 request_exceeds_balance',
    )
  })

  test('against the daily budget, TPM and the caller’s own cap as well', async () => {
    const budget = await served('gpt-4o', { dailyBudgetNano: nanoRub(2n * rub), balanceNano: 100n * rub })
    expect(await statusOf(budget, ask(russian))).toBe('200')
    const tokens = await served('gpt-4o', { tpm: 20_000, balanceNano: 100n * rub })
    expect(await statusOf(tokens, ask(russian))).toBe('200')
    const cap = await served('gpt-4o', { balanceNano: 100n * rub })
    expect(await statusOf(cap, ask(russian), { 'x-gateway-max-cost-rub': '2' })).toBe('200')
    expect(await statusOf(cap, ask(russian), { 'x-gateway-max-cost-rub': '0.5' })).toBe(
      '402 request_exceeds_max_cost',
    )
  })

  test('with its images: those that come along, and those behind a link', async () => {
    const seeing = await served('gpt-4o')
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    expect(await statusOf(seeing, ask([{ type: 'text', text: 'What is it?' }, image]))).toBe('200')
    const blind = await served('some-model')
    expect(await statusOf(blind, ask([image])), 'it may fill the context').toBe('402 request_exceeds_balance')
    const many = Array.from({ length: 20 }, () => image)
    expect(await statusOf(seeing, ask(many))).toBe('402 request_exceeds_balance')
  })

  test('and content that cannot be measured is rejected: a file of the provider’s', async () => {
    const customer = await served('gpt-4o')
    const file = { type: 'file', file: { file_id: 'file-1' } }
    expect(await statusOf(customer, ask([file]))).toBe('402 request_exceeds_balance')
    expect(await statusOf({ ...customer, key: customer.key }, ask('Hi'))).toBe('200')
  })

  test('and where it was large and refused all the same, it uses one of its key’s RPM', async () => {
    const customer = await served('gpt-4o', { balanceNano: rub / 10n, rpm: 2 })
    for (const status of [
      '402 request_exceeds_balance',
      '402 request_exceeds_balance',
      '429 rate_limit_exceeded',
    ])
      expect(await statusOf(customer, ask(russian))).toBe(status)
  })

  test('and what is held for it is what it was measured at', async () => {
    const customer = await served('gpt-4o', { balanceNano: 2n * rub })
    let finish: (value?: unknown) => void = () => undefined
    const until = new Promise((resolve) => {
      finish = resolve
    })
    const { role, say, finish: end, usage, done } = goodStream
    stack.upstream.answer(customer.model, {
      headers: streamHeaders,
      steps: [role, say('Hi'), { until }, end(), usage(), done],
    })
    const response = await post(gateway, customer.key, {
      model: customer.model,
      ...ask(russian),
      stream: true,
    })
    expect(response.status).toBe(200)
    const { held } = await view.money(customer.organizationId)
    expect(held).toBeGreaterThan(8_000n * prices.inputNano)
    expect(held).toBeLessThan(10_000n * prices.inputNano)
    finish()
    await response.text()
  })
})

describe('an answer that goes on beyond its limit', () => {
  const long = 'several words of an answer that does not end, '.repeat(400)

  async function talking(isStream: boolean, content: string) {
    const model = await stack.createModel({ inputNano: 0n, outputNano: 100_000n })
    const customer = await stack.createCustomer({ balanceNano: 100n * rub })
    await untilServed(gateway, customer.key, model)
    const { role, say, finish, usage, done } = goodStream
    const counts = { prompt_tokens: 1, completion_tokens: 4_000, total_tokens: 4_001 }
    const message = { role: 'assistant', content }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const whole = { id: 'x', object: 'chat.completion', created: 1, model, choices, usage: counts }
    stack.upstream.answer(
      model,
      isStream
        ? {
            headers: streamHeaders,
            steps: [role, ...content.split(/(?<=,)/).map((text) => say(text)), finish(), usage(counts), done],
          }
        : { steps: [{ send: JSON.stringify(whole) }] },
    )
    const body = { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20, stream: isStream }
    const options = isStream ? { stream_options: { include_usage: true } } : {}
    const response = await post(gateway, customer.key, { ...body, ...options })
    expect(response.status).toBe(200)
    return { text: await response.text(), headers: response.headers }
  }

  test('ends with finish_reason length in a stream, and costs its limit', async () => {
    const { text } = await talking(true, long)
    expect(text.length).toBeLessThan(long.length)
    expect(text).toContain('"finish_reason":"length"')
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(text).toContain('"cost_rub":"0.002"')
    expect(text).toContain('"completion_tokens":20')
  })

  test('is shown as far as its limit where it came whole', async () => {
    const { text, headers } = await talking(false, long)
    const { choices, usage } = JSON.parse(text)
    expect(choices[0].finish_reason).toBe('length')
    expect(long.startsWith(choices[0].message.content)).toBe(true)
    expect(choices[0].message.content.length).toBeLessThan(200)
    expect(usage.completion_tokens).toBe(20)
    expect(headers.get('x-gateway-cost-rub')).toBe('0.002')
  })

  test('is left alone where only an estimate by characters is above it', async () => {
    const table = '─'.repeat(64).concat('\n').repeat(8) // 520 characters, 520 tokens as estimated, few in truth
    for (const isStream of [true, false]) {
      const { text } = await talking(isStream, table)
      expect(text).not.toContain('"length"')
    }
  })
})
