import { describe, expect, test } from 'vitest'
import { noTokens } from '#core/ledger/price'
import { openAiUsageOf, readUsage } from './usage.ts'

function tokensOf(usage: unknown) {
  const read = readUsage(usage)
  return read.kind === 'reported' ? read.tokens : read.kind
}

describe('token classes are disjoint, wherever a provider puts its counts', () => {
  test.each([
    ['plain', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }, { input: 10, output: 5 }],
    [
      'OpenAI, with details',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
      { input: 3, cachedInput: 4, cacheWrite: 3, output: 3, reasoning: 2 },
    ],
    [
      'DeepSeek',
      { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 },
      { input: 4, cachedInput: 6, output: 5 },
    ],
    [
      'Moonshot',
      { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 1 },
      { input: 9, cachedInput: 1, output: 5 },
    ],
    [
      'xAI, whose completion leaves reasoning out',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 35,
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      { input: 10, output: 5, reasoning: 20 },
    ],
    ['an embedding', { prompt_tokens: 8, total_tokens: 8 }, { input: 8 }],
    ['zero is a count', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, {}],
    [
      'details that are null',
      {
        prompt_tokens: 1,
        completion_tokens: 1,
        prompt_tokens_details: null,
        completion_tokens_details: { reasoning_tokens: null },
      },
      { input: 1, output: 1 },
    ],
  ])('%s', (_provider, usage, tokens) => {
    expect(tokensOf(usage)).toEqual({ ...noTokens, ...tokens })
  })
})

describe('no usage is missing, not zero', () => {
  test.each([
    [undefined],
    [null],
    ['12'],
    [[]],
    [{}],
    [{ total_tokens: 5 }],
    [{ completion_tokens: 5 }],
    [{ prompt_tokens: 5 }],
  ])('%j', (usage) => {
    expect(tokensOf(usage)).toBe('missing')
  })
})

describe('usage that cannot be is not believed', () => {
  test.each([
    [{ prompt_tokens: -1, completion_tokens: 5 }],
    [{ prompt_tokens: 1.5, completion_tokens: 5 }],
    [{ prompt_tokens: '10', completion_tokens: 5 }],
    [{ prompt_tokens: 10, completion_tokens: -5 }],
    [{ prompt_tokens: 10, completion_tokens: 2 ** 53 }],
    [{ prompt_tokens: 10, completion_tokens: 20_000_001 }],
    [{ prompt_tokens: 10, total_tokens: 5 }],
    [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 'x' }],
    [{ prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 11 } }],
    [
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 6 },
      },
    ],
    [{ prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: -1 } }],
    [{ prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 6 } }],
  ])('%j', (usage) => {
    expect(tokensOf(usage)).toBe('untrusted')
  })
})

test("what the client reads adds up, and keeps the provider's whole details", () => {
  const read = readUsage({
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 99,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 1, text_tokens: 'x' },
    completion_tokens_details: { reasoning_tokens: 2, accepted_prediction_tokens: 1 },
    queue_time: 0.1,
  })
  expect(read).toMatchObject({
    openai: {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { audio_tokens: 1, cached_tokens: 4 },
      completion_tokens_details: { accepted_prediction_tokens: 1, reasoning_tokens: 2 },
    },
  })
  expect(openAiUsageOf({ ...noTokens, input: 3, cacheWrite: 2, output: 4 })).toEqual({
    prompt_tokens: 5,
    completion_tokens: 4,
    total_tokens: 9,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 0 },
  })
})
