import { describe, expect, test } from 'vitest'
import { createToolNames } from '../../tool-names.ts'
import { readAnswer } from './answer.ts'
import { usageOf } from './usage.ts'

const names = createToolNames(['a/b'], { pattern: /\w/, lengthMax: 64 })
const context = { names, own: 'mark' }
const signed = (thought_signature: string) => ({
  extra_content: { google: { thought_signature }, gateway: { origin: 'mark' } },
})

function read(response: object | string) {
  return readAnswer(typeof response === 'string' ? response : JSON.stringify(response), context)
}

function choiceOf(candidate: object) {
  const reading = read({ candidates: [candidate] })
  if (reading.kind === 'failed') throw new Error(reading.failure.result)
  return (reading.answer.choices as readonly object[])[0]
}

const messageOf = (...parts: readonly object[]) => choiceOf({ content: { role: 'model', parts } })

describe('a candidate', () => {
  test('has its thoughts, text, images and calls in OpenAI’s fields', () => {
    expect(
      messageOf(
        { text: 'Let me ', thought: true },
        { text: 'see.', thought: true },
        { text: 'It ' },
        { text: 'is' },
        { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
        { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
        { executableCode: { code: '1' } },
        { functionCall: { id: 'c1', name: names.sent('a/b'), args: { x: 1 } }, thoughtSignature: 'c2E=' },
        { functionCall: { name: 'other' } },
      ),
    ).toMatchObject({
      message: {
        role: 'assistant',
        reasoning_content: 'Let me see.',
        content: 'It is',
        images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'a/b', arguments: '{"x":1}' }, ...signed('c2E=') },
          { type: 'function', function: { name: 'other', arguments: '{}' } },
        ],
      },
    })
  })

  test('has the signature of its last other part as its own, byte for byte', () => {
    expect(messageOf({ text: 'Hi' }, { text: '', thoughtSignature: 'AbC+/9==' })).toMatchObject({
      message: { content: 'Hi', ...signed('AbC+/9==') },
    })
    expect(messageOf({ text: 'Hi' })).not.toHaveProperty('message.extra_content')
  })

  test('keeps integers beyond 2^53 in arguments', () => {
    const args = '{"id":12345678901234567890,"n":[9007199254740993]}'
    const call = `{"functionCall":{"name":"f","args":${args}}}`
    const reading = read(`{"candidates":[{"content":{"parts":[${call}]}}]}`)
    expect(reading).toMatchObject({
      answer: { choices: [{ message: { tool_calls: [{ function: { arguments: args } }] } }] },
    })
  })

  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', 'stop'],
    ['NO_IMAGE', 'stop'],
    ['SOMETHING_NEW', 'stop'],
    [undefined, null],
  ])('that ends with %s ends with %s', (finishReason, finish_reason) => {
    expect(choiceOf({ content: { parts: [{ text: 'Hi' }] }, finishReason })).toMatchObject({ finish_reason })
  })

  test('without content is empty', () => {
    expect(choiceOf({ finishReason: 'SAFETY' })).toEqual({
      index: 0,
      message: { role: 'assistant', content: null },
      finish_reason: 'content_filter',
    })
  })

  test('has log probabilities in OpenAI’s shape', () => {
    const logprobsResult = {
      chosenCandidates: [{ token: 'é', logProbability: -0.5 }],
      topCandidates: [{ candidates: [{ token: 'é', logProbability: -0.5 }, { token: 'e' }] }],
    }
    expect(choiceOf({ content: { parts: [{ text: 'é' }] }, logprobsResult })).toMatchObject({
      logprobs: {
        content: [
          {
            token: 'é',
            logprob: -0.5,
            bytes: [195, 169],
            top_logprobs: [
              { token: 'é', logprob: -0.5, bytes: [195, 169] },
              { token: 'e', logprob: 0, bytes: [101] },
            ],
          },
        ],
      },
    })
  })
})

describe('a response', () => {
  test('of several candidates has several choices', () => {
    const candidate = (index: number) => ({ index, content: { parts: [{ text: String(index) }] } })
    expect(read({ candidates: [candidate(0), candidate(1)] })).toMatchObject({
      answer: { choices: [{ index: 0 }, { index: 1, message: { content: '1' } }] },
    })
  })

  test('to a blocked prompt is empty, with the provider’s count', () => {
    const usageMetadata = { promptTokenCount: 10, totalTokenCount: 10 }
    const message = { role: 'assistant', content: null }
    expect(read({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata })).toMatchObject({
      answer: { choices: [{ index: 0, message, finish_reason: 'content_filter' }] },
      usage: { prompt_tokens: 10, completion_tokens: 0 },
    })
  })

  test.each([
    ['an error', { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }, 'error_in_answer'],
    ['no JSON', '<html>', 'malformed_answer'],
    ['a list', '[{}]', 'malformed_answer'],
    ['nested too deep', `{"a":${'['.repeat(999)}${']'.repeat(999)}}`, 'malformed_answer'],
    [
      'nothing but a call that the model got wrong',
      { candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }] },
      'malformed_call',
    ],
  ])('that is %s is a failure', (_, response, result) => {
    expect(read(response)).toMatchObject({ kind: 'failed', failure: { result } })
  })
})

test.each([
  [undefined, undefined],
  [{}, { completion_tokens: 0 }],
  [
    {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      cachedContentTokenCount: 4,
      totalTokenCount: 20,
    },
    {
      prompt_tokens: 15,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  ],
  [
    { promptTokenCount: 10, thoughtsTokenCount: 2 },
    { prompt_tokens: 10, completion_tokens: 2 },
  ],
])('usage %j', (metadata, usage) => {
  if (usage === undefined) expect(usageOf(metadata)).toBeUndefined()
  else expect(usageOf(metadata)).toMatchObject(usage)
})
