import { expect, test } from 'vitest'
import { createDialect } from './dialect.ts'
import { mayReasonUnseen } from './unseen-reasoning.ts'

function reasons(model: string, request: object = {}, defaults: Record<string, unknown> = {}): boolean {
  const provider = { api: 'OpenAI', baseUrl: 'http://127.0.0.1' } as const
  const parameters = { drop: [], rename: {}, defaults }
  const route = { model: `shop/${model}`, type: 'chat', parameters, maxOutputTokens: null } as const
  return mayReasonUnseen({ ...request }, createDialect(provider, model, route), { ...route, price: null })
}

test.each([
  'o3-mini',
  'gpt-5.2',
  'openai/o4',
  'gemini-2.5-pro',
  'grok-4',
  'deepseek-reasoner',
  'kimi-thinking',
])('%s reasons unasked', (model) => {
  expect(reasons(model)).toBe(true)
})

test.each(['gpt-4o', 'gpt-5-chat-latest', 'llama-3.3-70b', 'gemini-2.0-flash', 'mistral-large', 'yandexgpt'])(
  '%s reasons only where it is asked to, by its caller or its route',
  (model) => {
    expect(reasons(model)).toBe(false)
    expect(reasons(model, { reasoning_effort: 'none', thinking: { type: 'disabled' } })).toBe(false)
    expect(reasons(model, { enable_thinking: false, reasoning: { enabled: false } })).toBe(false)
    expect(reasons(model, { reasoning_effort: 'low' })).toBe(true)
    expect(reasons(model, { thinking: { type: 'enabled' } })).toBe(true)
    expect(reasons(model, {}, { reasoning_effort: 'high' })).toBe(true)
    expect(reasons(model, { reasoning_effort: 'none' }, { reasoning_effort: 'high' })).toBe(false)
  },
)
