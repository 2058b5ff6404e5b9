import { expect, test } from 'vitest'
import { createDialect, kindOf } from './dialect.ts'

const route: Parameters<typeof createDialect>[2] = {
  model: 'any/gpt-4o',
  type: 'chat',
  parameters: { drop: [], rename: {}, defaults: {} },
  maxOutputTokens: null,
}

test.each([
  ['https://api.openai.com/v1', 'openai', 'https://api.openai.com/v1/chat/completions'],
  ['https://eu.api.openai.com/v1/', 'openai', 'https://eu.api.openai.com/v1/chat/completions'],
  [
    'https://api.openai.com.evil.example/v1',
    'generic',
    'https://api.openai.com.evil.example/v1/chat/completions',
  ],
  [
    'https://notapi.mistral.ai.example/v1',
    'generic',
    'https://notapi.mistral.ai.example/v1/chat/completions',
  ],
  [
    'https://r.openai.azure.com/openai/v1?api-version=preview',
    'azure',
    'https://r.openai.azure.com/openai/v1/chat/completions?api-version=preview',
  ],
  [
    'https://r.openai.azure.com/openai/?api-version=2024-10-21',
    'azure-deployments',
    'https://r.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
  ],
  [
    'https://r.openai.azure.com/openai/deployments/mine?api-version=2024-10-21',
    'azure-deployments',
    'https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21',
  ],
  ['https://api.z.ai/api/paas/v4', 'zhipu', 'https://api.z.ai/api/paas/v4/chat/completions'],
  ['http://ollama:11434/v1', 'ollama', 'http://ollama:11434/v1/chat/completions'],
  ['http://10.0.0.7:8000/v1', 'generic', 'http://10.0.0.7:8000/v1/chat/completions'],
] as const)('%s is a provider of kind %s', (baseUrl, kind, url) => {
  const provider = { api: 'OpenAI', baseUrl } as const
  expect(kindOf(provider)).toBe(kind)
  expect(createDialect(provider, 'gpt-4o', route).urls.plain).toBe(url)
})

test('the name of a kind wins over the address, and the api over the host', () => {
  expect(kindOf({ api: 'OpenAI', baseUrl: 'https://api.openai.com/v1', quirks: 'vllm' })).toBe('vllm')
  expect(kindOf({ api: 'AzureOpenAI', baseUrl: 'https://proxy.example/openai/v1' })).toBe('azure')
  expect(kindOf({ api: 'YandexGPT', baseUrl: 'https://proxy.example/v1' })).toBe('yandexgpt')
})

test('backends of one kind share what was compiled', () => {
  const provider = { api: 'OpenAI', baseUrl: 'https://api.openai.com/v1' } as const
  const quirksOf = (model: string) => createDialect(provider, model, route).quirks
  expect(quirksOf('gpt-4o')).toBe(quirksOf('gpt-4.1'))
  expect(quirksOf('o3')).not.toBe(quirksOf('o1'))
})

test.each([
  [
    ['gpt-5-codex', 'gpt-5.1-codex-max', 'gpt-5-3-codex', 'openai/gpt-5-codex', 'codex-mini-latest'],
    'responses',
  ],
  [['o3-pro', 'gpt-5-pro-2025-10-06', 'o4-mini-deep-research', 'computer-use-preview'], 'responses'],
  [
    ['gpt-5', 'gpt-5.1-chat-latest', 'gpt-5-mini', 'o3', 'gpt-4o', 'gpt-profile', 'codexa'],
    'chat/completions',
  ],
] as const)('chats of %s go to %s', (models, path) => {
  const provider = { api: 'OpenAI', baseUrl: 'https://api.openai.com/v1' } as const
  for (const model of models)
    expect(createDialect(provider, model, route).urls.stream).toBe(`https://api.openai.com/v1/${path}`)
})

test('chats of any name go to the Responses API of a provider that is named so, embeddings do not', () => {
  const provider = { api: 'OpenAI', baseUrl: 'https://proxy.example/v1', quirks: 'openai-responses' } as const
  expect(createDialect(provider, 'ours', route).urls.plain).toBe('https://proxy.example/v1/responses')
  const embeddings = createDialect(provider, 'ours', { ...route, type: 'embedding' })
  expect(embeddings.urls.plain).toBe('https://proxy.example/v1/embeddings')
})
