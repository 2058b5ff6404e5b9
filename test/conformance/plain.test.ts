import { describe, expect, test } from 'vitest'
import { normaliseAnswer, writeAnswer } from '#gateway/chat/internal/plain-normaliser'
import { chatFormat } from '#gateway/formats/chat-format'
import { readAnswer } from '#gateway/upstream/internal/adapters/openai/answer'
import { answerSchemaOf } from './answer-schema.ts'
import { costRub, counted as usage } from './stream-play.ts'

const options = {
  requestId: 'ours',
  model: 'openai/gpt-4o',
  createdS: 1_800_000_000,
  origin: 'provider',
  secrets: [],
}
const schema = answerSchemaOf('CreateChatCompletionResponse')
function read(answer: unknown) {
  return normaliseAnswer(readAnswer(typeof answer === 'string' ? answer : JSON.stringify(answer)), options)
}

/** The answer as a client reads it; it is valid by OpenAI's schema, or the test fails. */
function written(answer: unknown) {
  const reading = read(answer)
  if (reading.kind !== 'answer') throw new Error(reading.failure.result)
  const body = JSON.parse(writeAnswer(chatFormat, reading.answer, { usage, costRub }, options.secrets))
  expect(schema.safeParse(body).error).toBeUndefined()
  return body
}

const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }
const calls = (...given: object[]) => ({
  choices: [{ ...choice, message: { role: 'assistant', tool_calls: given } }],
})

test('an answer has every field that strict clients read, our id, the model that ran, and the usage that is charged', () => {
  expect(
    written({
      id: 'theirs',
      model: 'theirs',
      created: 1,
      choices: [choice],
      usage: { prompt_tokens: 1 },
      x: 1,
    }),
  ).toEqual({
    id: 'chatcmpl-ours',
    object: 'chat.completion',
    created: 1_800_000_000,
    model: 'openai/gpt-4o',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hi', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
  })
})

test('what a moderation found, and what the caller noted on a stored answer, is there', () => {
  const results = {
    type: 'moderation_results',
    model: 'omni-moderation-latest',
    results: [
      {
        type: 'moderation_result',
        model: 'omni-moderation-latest',
        flagged: false,
        categories: { violence: false },
        category_scores: { violence: 0.1 },
        category_applied_input_types: { violence: ['text'] },
      },
    ],
  }
  const told = { moderation: { input: results, output: results }, metadata: { team: 'a' } }
  expect(written({ choices: [choice], ...told })).toMatchObject(told)
  const odd = written({ choices: [choice], moderation: { flagged: false }, metadata: { team: 1 } })
  expect(odd).not.toHaveProperty('moderation')
  expect(odd).not.toHaveProperty('metadata')
})

describe('a dirty message becomes a clean one', () => {
  test.each([
    [
      'content as a list',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { content: 'ab' },
    ],
    [
      'thinking in the content',
      {
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'a' },
        ],
      },
      { content: 'a', reasoning_content: 'hm' },
    ],
    [
      'reasoning by its other name',
      { content: 'a', reasoning: 'hm', reasoning_details: [{}] },
      { content: 'a', reasoning_content: 'hm', reasoning_details: [{}] },
    ],
    [
      'images',
      { content: 'a', images: [{ type: 'image_url', image_url: { url: 'data:,' } }] },
      { content: 'a', images: [{ type: 'image_url', image_url: { url: 'data:,' } }] },
    ],
    ['images and sound that are none', { content: 'a', images: [], audio: {} }, { content: 'a' }],
    [
      'signatures that are none',
      { content: 'a', reasoning_details: [], extra_content: 's' },
      { content: 'a' },
    ],
    ['a refusal without content', { refusal: 'no' }, { content: null, refusal: 'no' }],
    ['empty and null tool calls', { content: 'a', tool_calls: [], function_call: null }, { content: 'a' }],
    ['a role of its own', { role: 'model', content: 'a' }, { content: 'a' }],
    [
      'sound',
      { content: null, audio: { id: 'x', expires_at: 1, data: '', transcript: 'a' } },
      { content: null, audio: { id: 'x', expires_at: 1, data: '', transcript: 'a' } },
    ],
  ])('%s', (_what, message, shown) => {
    const [first] = written({ choices: [{ ...choice, message }] }).choices
    expect(first.message).toEqual({ role: 'assistant', refusal: null, ...shown })
  })
})

test('tool calls have an id, a type, text as arguments, and end the answer', () => {
  const { choices } = written(
    calls(
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { function: { name: 'g', arguments: { y: [2] } } },
      { id: '', function: { name: 'h' } },
      { id: 'd', type: 'custom', custom: { name: 'c', input: 'text' } },
      { id: 'e', type: 'custom', custom: { name: 'c', input: null } },
    ),
  )
  expect(choices[0].finish_reason).toBe('tool_calls')
  expect(choices[0].message.tool_calls).toEqual([
    { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
    { id: 'call_chatcmpl-ours_0_1', type: 'function', function: { name: 'g', arguments: '{"y":[2]}' } },
    { id: 'call_chatcmpl-ours_0_2', type: 'function', function: { name: 'h', arguments: '{}' } },
    { id: 'd', type: 'custom', custom: { name: 'c', input: 'text' } },
    { id: 'e', type: 'custom', custom: { name: 'c', input: '' } },
  ])
})

test('choices are sorted, and those without an index count from 0', () => {
  const second = { ...choice, index: 1 }
  expect(written({ choices: [second, choice] }).choices.map(({ index }: { index: number }) => index)).toEqual(
    [0, 1],
  )
  const { index: _, ...bare } = choice
  expect(written({ choices: [bare, bare] }).choices.map(({ index }: { index: number }) => index)).toEqual([
    0, 1,
  ])
})

test('log probabilities are whole or null', () => {
  const logprobs = { content: [{ token: 'Hi', logprob: -1 }] }
  expect(written({ choices: [{ ...choice, logprobs }] }).choices[0].logprobs).toEqual({
    content: [{ token: 'Hi', logprob: -1, bytes: null, top_logprobs: [] }],
    refusal: null,
  })
  const likely = { token: 'Hey', logprob: -2, bytes: [72, 101, 121] }
  const withLikely = {
    content: [{ token: 'Hi', logprob: -1, bytes: null, top_logprobs: [likely] }],
    refusal: null,
  }
  expect(written({ choices: [{ ...choice, logprobs: withLikely }] }).choices[0].logprobs).toEqual(withLikely)
  const together = { tokens: ['Hi'], token_logprobs: [-1] }
  expect(written({ choices: [{ ...choice, logprobs: together }] }).choices[0].logprobs).toBeNull()
})

test.each([
  ['eos', 'stop'],
  [null, 'stop'],
  ['max_tokens', 'length'],
  ['content_filter', 'content_filter'],
])('the end %j is %j', (given, reason) => {
  expect(written({ choices: [{ ...choice, finish_reason: given }] }).choices[0].finish_reason).toBe(reason)
})

test('what was generated is there to be counted where usage is missing', () => {
  const message = { content: 'say', reasoning_content: 'think', tool_calls: [{ function: { name: 'f' } }] }
  const reading = read({
    choices: [
      { ...choice, message },
      { ...choice, index: 1 },
    ],
  })
  expect(reading).toMatchObject({ usage: undefined, generated: { reasoning: 'think' } })
  if (reading.kind === 'answer') expect(reading.generated.output).toMatch(/^say.*"f".*Hi$/)
})

test('words of sound are text that was generated, its data and images are measured', () => {
  const sound = { id: 'a', data: 'A'.repeat(100), transcript: 'spoken', expires_at: 1 }
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QQ==' } }
  const reading = read({
    choices: [
      { ...choice, message: { content: null, audio: sound, images: [image, image] } },
      { ...choice, index: 1, message: { content: null, audio: { ...sound, data: undefined } } },
    ],
  })
  expect(reading).toMatchObject({
    generated: { output: 'spokenspoken', reasoning: '', media: { images: 2, soundLength: 100 } },
  })
})

test('a signature is no text that was generated', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const outputOf = (answer: object) => {
    const reading = read(answer)
    return reading.kind === 'answer' && reading.generated.output
  }
  const extra_content = { google: { thought_signature: 's'.repeat(4000) } }
  expect(outputOf(calls({ ...call, extra_content }))).toBe(outputOf(calls(call)))
})

describe('what is no answer is a failure, never a 200', () => {
  test.each([
    ['not JSON', '<html></html>', 'malformed_answer'],
    ['nothing', '', 'malformed_answer'],
    ['a list', [], 'malformed_answer'],
    ['no choices', { id: 'x' }, 'empty_answer'],
    ['empty choices', { choices: [] }, 'empty_answer'],
    ['a choice without a message', { choices: [{ index: 0, text: 'Hi' }] }, 'malformed_answer'],
    ['content of the wrong type', { choices: [{ ...choice, message: { content: 5 } }] }, 'malformed_answer'],
    ['a call without a name', calls({ id: 'a', function: { arguments: '{}' } }), 'malformed_answer'],
    ['tool calls that are no list', { choices: [{ message: { tool_calls: {} } }] }, 'malformed_answer'],
    ['an error with status 200', { error: { message: 'Overloaded', code: 529 } }, 'error_in_answer'],
    ['an error with status 200 that nothing wraps', { code: 'Throttling', message: 'no' }, 'error_in_answer'],
    ['an error of one word', { error: 'broken' }, 'error_in_answer'],
    ['an error as the end', { choices: [{ ...choice, finish_reason: 'error' }] }, 'error_in_answer'],
  ])('%s', (_what, answer, result) => {
    expect(read(answer)).toMatchObject({ kind: 'bad_answer', failure: { result } })
  })
})
