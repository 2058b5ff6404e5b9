import { expect, test } from 'vitest'
import { createDialect } from '../../../dialect.ts'
import { adaptEmbeddingRequest } from '../../../embedding-request.ts'
import { geminiAdapter } from './adapter.ts'

const baseUrl = 'https://generativelanguage.googleapis.com/v1beta'

function dialectOf(type: 'chat' | 'embedding', model: string, base = baseUrl, defaults = {}) {
  return createDialect({ api: 'Gemini', baseUrl: base }, model, {
    model: 'google/model',
    type,
    parameters: { drop: [], rename: {}, defaults },
    maxOutputTokens: null,
  })
}

test.each([
  ['gemini-3-pro', baseUrl, `${baseUrl}/models/gemini-3-pro`, ''],
  ['models/gemini-3-pro', `${baseUrl}/`, `${baseUrl}/models/gemini-3-pro`, ''],
  ['tunedModels/mine', `${baseUrl}?key=k`, `${baseUrl}/tunedModels/mine`, 'key=k'],
  ['a b/../c', baseUrl, `${baseUrl}/models/a%20b%2F..%2Fc`, ''],
])('the addresses of %s', (model, base, path, query) => {
  expect(dialectOf('chat', model, base).urls).toEqual({
    plain: `${path}:generateContent${query && `?${query}`}`,
    stream: `${path}:streamGenerateContent?${query && `${query}&`}alt=sse`,
  })
})

test('texts to embed are one batch, each with the settings of all', () => {
  const dialect = dialectOf('embedding', 'gemini-embedding-001', baseUrl, { taskType: 'CLUSTERING' })
  expect(dialect.urls.plain).toBe(`${baseUrl}/models/gemini-embedding-001:batchEmbedContents`)
  const body = { model: 'x', input: ['a', 'b'], dimensions: 8, user: 'u' }
  const common = { model: 'models/gemini-embedding-001', outputDimensionality: 8, taskType: 'CLUSTERING' }
  expect(adaptEmbeddingRequest({ body, items: ['a', 'b'], format: 'base64', dialect })).toEqual({
    requests: [
      { ...common, content: { parts: [{ text: 'a' }] } },
      { ...common, content: { parts: [{ text: 'b' }] } },
    ],
  })
})

test('vectors are read in their order, and usage if there is any', () => {
  const { read } = geminiAdapter.embeddings
  const item = (index: number, embedding: unknown) => ({ object: 'embedding', index, embedding })
  expect(read('{"embeddings":[{"values":[1,2]},{"values":[3]},{}]}')).toEqual({
    kind: 'answer',
    data: [item(0, [1, 2]), item(1, [3]), item(2, undefined)],
    promptTokens: undefined,
  })
  expect(read('{"embeddings":[{"values":[1]}],"usageMetadata":{"promptTokenCount":3}}')).toMatchObject({
    promptTokens: 3,
  })
  expect(read('{"error":{"code":429,"message":"x"}}')).toMatchObject({ failure: { kind: 'overloaded' } })
  expect(read('x')).toMatchObject({ failure: { result: 'malformed_answer' } })
})

test('a list of models is recognized', () => {
  const { isModelList, modelsUrlOf } = geminiAdapter
  expect(modelsUrlOf(baseUrl)).toBe(`${baseUrl}/models`)
  expect([{ models: [] }, { data: [] }, []].map(isModelList)).toEqual([true, false, false])
})
