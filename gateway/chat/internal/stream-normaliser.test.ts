import { describe, expect, test } from 'vitest'
import { openAiUsageOf } from '../../exchange/usage.ts'
import { chatFormat } from '../../formats/chat-format.ts'
import { estimateText } from '../../tokens/token-estimate.ts'
import { eventReader } from '../../upstream/internal/adapters/openai/stream.ts'
import { createStreamNormaliser } from './stream-normaliser.ts'

function start(usage: 'shown' | 'hidden' = 'hidden', choices = 1, secrets: readonly string[] = []) {
  return createStreamNormaliser({
    reader: eventReader,
    format: chatFormat,
    requestId: '1',
    model: 'demo/echo',
    createdS: 1,
    origin: 'provider',
    choices,
    usage,
    secrets,
  })
}

function chunk(delta: object, finishReason: string | null = null, index = 0): string {
  return JSON.stringify({ choices: [{ index, delta, finish_reason: finishReason }] })
}

test('of counts in every chunk the last ones are the usage, wherever the stream ends', () => {
  const counted = (content: string, count: number) =>
    JSON.stringify({
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
      usage: { prompt_tokens: 10, completion_tokens: count },
    })
  const normaliser = start()
  const texts = ['a', 'b', 'c\n', 'd', 'e'].map((text, at) => {
    const step = normaliser.accept(counted(text, at + 1))
    expect(normaliser.usage(), text).toEqual({ prompt_tokens: 10, completion_tokens: at + 1 })
    return 'text' in step ? step.text : ''
  })
  expect(texts.join('').match(/"content":"[^"]+"/g)).toHaveLength(5)
  normaliser.accept(counted('f', 6))
  normaliser.accept(counted('g', 7))
  expect(normaliser.usage()).toEqual({ prompt_tokens: 10, completion_tokens: 7 })
  normaliser.accept(chunk({ content: 'h' }))
  expect(normaliser.usage(), 'of the last words nothing is known').toBeUndefined()
})

test('a content chunk is this, to the byte', () => {
  const normaliser = start('shown')
  const head =
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"demo/echo","choices":['
  expect(normaliser.accept(chunk({ content: 'a"' }))).toEqual({
    kind: 'frames',
    text:
      `${head}{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}\n\n` +
      `${head}{"index":0,"delta":{"content":"a\\""},"finish_reason":null}],"usage":null}\n\n`,
  })
})

describe('nothing is written before the first content, so that the attempt can still be thrown away', () => {
  test.each([
    ['a role', { role: 'assistant', content: '' }],
    ['an empty reasoning', { reasoning_content: '' }],
    ['a tool call without its name', { tool_calls: [{ index: 0, id: 'a' }] }],
    ['no tool calls', { tool_calls: [] }],
    ['no image and no sound', { images: [], audio: {} }],
    ['no citation', { annotations: [] }],
    ['no signature', { extra_content: {}, reasoning_details: [] }],
    ['an empty delta', {}],
  ])('%s is no content', (_what, delta) => {
    const normaliser = start()
    expect(normaliser.accept(chunk(delta))).toEqual({ kind: 'nothing' })
  })
  test.each([
    ['text', { content: 'a' }],
    ['reasoning', { reasoning: 'hm' }],
    ['signed reasoning', { reasoning_details: [{ type: 'reasoning.encrypted' }] }],
    ['an image', { content: '', images: [{ type: 'image_url', image_url: { url: 'data:,' } }] }],
    ['sound', { audio: { id: 'a' } }],
    ['a citation', { annotations: [{ type: 'url_citation' }] }],
    ['a signature', { content: '', extra_content: { google: { thought_signature: 's' } } }],
    ['a refusal', { refusal: 'no' }],
    ['the start of a tool call', { tool_calls: [{ index: 0, id: 'a', function: { name: 'f' } }] }],
    ['a function call', { function_call: { name: 'f' } }],
  ])('%s is content', (_what, delta) => {
    const normaliser = start()
    expect(normaliser.accept(chunk(delta)).kind).toBe('frames')
  })
  test('the end of an empty answer is written', () => {
    const normaliser = start()
    expect(normaliser.accept(chunk({}, 'stop')).kind).toBe('frames')
    expect(normaliser.finished()).toBe('all')
  })
})

test('an answer is finished when every choice that was asked for has its finish reason, not only those that began', () => {
  const normaliser = start('hidden', 2)
  expect(normaliser.finished()).toBe('no')
  normaliser.accept(chunk({ content: 'a' }))
  normaliser.accept(chunk({}, 'stop'))
  expect(normaliser.finished()).toBe('begun')
  normaliser.accept(chunk({ content: 'b' }, null, 1))
  expect(normaliser.finished()).toBe('no')
  normaliser.accept(chunk({}, 'stop', 1))
  expect(normaliser.finished()).toBe('all')
})

test('a body that ends after fewer choices than were asked for is whole, in the middle of one it is cut', () => {
  const normaliser = start('hidden', 2)
  normaliser.accept(chunk({ content: 'a' }, 'stop'))
  expect(normaliser.end().kind).toBe('ended')
  const cut = start('hidden', 2)
  cut.accept(chunk({ content: 'a' }))
  expect(cut.end().kind).toBe('failed')
})

test('more tool calls than any model makes are malformed', () => {
  const normaliser = start()
  const call = (index: number) =>
    chunk({ tool_calls: [{ index, id: `call-${index}`, function: { name: 'f' } }] })
  for (let index = 0; index < 1024; index++) expect(normaliser.accept(call(index)).kind).toBe('frames')
  expect(normaliser.accept(call(1024)).kind).toBe('failed')
})

test('a choice that comes first waits for the one before it', () => {
  const normaliser = start('hidden', 2)
  normaliser.accept(chunk({ content: 'a' }, null, 1))
  normaliser.accept(chunk({}, 'stop', 1))
  expect(normaliser.finished()).toBe('no')
  normaliser.accept(chunk({}, 'stop', 0))
  expect(normaliser.finished()).toBe('all')
})

test('the deprecated function_call streams with its name once and ends as one', () => {
  const normaliser = start()
  const steps = [
    normaliser.accept(chunk({ function_call: { name: 'f', arguments: '{' } })),
    normaliser.accept(chunk({ function_call: { name: 'f', arguments: '}' } })),
    normaliser.accept(chunk({}, 'stop')),
  ]
  const text = steps.map((step) => ('text' in step ? step.text : '')).join('')
  expect(
    [...text.matchAll(/"delta":(\{.*\}),"finish_reason":(null|"\w+")\}/g)].map(([, delta, finish]) => [
      delta,
      finish,
    ]),
  ).toEqual([
    ['{"role":"assistant","content":"","refusal":null}', 'null'],
    ['{"function_call":{"name":"f","arguments":""}}', 'null'],
    ['{"function_call":{"arguments":"{"}}', 'null'],
    ['{"function_call":{"arguments":"}"}}', 'null'],
    ['{}', '"function_call"'],
  ])
})

test('what was delivered is counted: reasoning apart, tool calls and refusals as output', () => {
  const normaliser = start()
  normaliser.accept(chunk({ reasoning_content: 'think' }))
  normaliser.accept(chunk({ content: 'say' }))
  normaliser.accept(chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }))
  normaliser.accept(chunk({ refusal: 'no' }))
  expect(normaliser.delivered.reasoning.countable().parts).toEqual(['think'])
  expect(normaliser.delivered.output.countable().parts).toEqual(['sayf{}no'])
  expect(normaliser.delivered.output.tokens()).toBe(estimateText('sayf{}no'))
})

test('what was delivered is counted to the end, also of chunks that differ in nothing but their text', () => {
  const normaliser = start()
  for (const content of ['one ', 'two ', 'three']) normaliser.accept(chunk({ content }))
  expect(normaliser.delivered.output.countable().parts).toEqual(['one two three'])
})

test('a choice that was not asked for is malformed', () => {
  expect(start('hidden', 2).accept(chunk({ content: 'b' }, null, 1)).kind).toBe('frames')
  expect(start('hidden', 2).accept(chunk({ content: 'c' }, null, 2)).kind).toBe('failed')
})

test("a custom tool's call counts by its name and its input", () => {
  const normaliser = start()
  const call = (fields: object) => normaliser.accept(chunk({ tool_calls: [{ index: 0, ...fields }] }))
  call({ id: 'a', type: 'custom', custom: { name: 'run', input: '' } })
  call({ custom: { input: 'print(1)' } })
  expect(normaliser.delivered.output.countable().parts).toEqual(['runprint(1)'])
})

test('a function call counts by its name and its arguments', () => {
  const normaliser = start()
  normaliser.accept(chunk({ function_call: { name: 'run', arguments: '{"a"' } }))
  normaliser.accept(chunk({ function_call: { arguments: ':1}' } }))
  expect(normaliser.delivered.output.countable().parts).toEqual(['run{"a":1}'])
})

test('words of sound count as output, its data and images by what they are, and nothing of them is kept', () => {
  const normaliser = start()
  normaliser.accept(chunk({ audio: { id: 'a', transcript: 'spoken' } }))
  normaliser.accept(chunk({ audio: { data: 'A'.repeat(1000) } }))
  normaliser.accept(chunk({ images: [{ type: 'image_url', image_url: { url: 'data:,' } }] }))
  expect(normaliser.delivered.output.countable().parts).toEqual(['spoken'])
  expect(normaliser.delivered.media).toEqual({ images: 1, soundLength: 1000, opaqueLength: 0 })
})

test('a usage before sound or an image is no count of it', () => {
  for (const delta of [{ audio: { data: 'AAAA' } }, { images: [{ type: 'image_url' }] }]) {
    const normaliser = start()
    normaliser.accept(JSON.stringify({ ...JSON.parse(chunk({ content: 'a' })), usage: { prompt_tokens: 1 } }))
    normaliser.accept(chunk(delta))
    expect(normaliser.usage()).toBeUndefined()
  }
})

test('the last usage counts, wherever it came, unless content followed it', () => {
  const normaliser = start()
  const say = (content: string, usage?: object) =>
    normaliser.accept(JSON.stringify({ ...JSON.parse(chunk({ content })), usage }))
  say('a', { prompt_tokens: 1 })
  expect(normaliser.usage()).toEqual({ prompt_tokens: 1 })
  say('b')
  expect(normaliser.usage()).toBeUndefined()
  say('c', { prompt_tokens: 2 })
  normaliser.accept(chunk({}, 'stop'))
  expect(normaliser.usage()).toEqual({ prompt_tokens: 2 })
  normaliser.accept(JSON.stringify({ choices: [], usage: { prompt_tokens: 3 } }))
  expect(normaliser.usage()).toEqual({ prompt_tokens: 3 })
})

test('after the end, and after a failure, nothing is taken any more', () => {
  const ended = start()
  ended.accept(chunk({ content: 'a' }, 'stop'))
  expect(ended.accept('[DONE]').kind).toBe('ended')
  const failed = start()
  expect(failed.accept('nonsense').kind).toBe('failed')
  for (const normaliser of [ended, failed]) {
    expect(normaliser.accept(chunk({ content: 'b' }))).toEqual({ kind: 'nothing' })
    expect(normaliser.accept('[DONE]')).toEqual({ kind: 'nothing' })
    expect(normaliser.end()).toEqual({ kind: 'nothing' })
  }
  expect(ended.delivered.output.length()).toBe(1)
})

test('the finish frames are the usage with its cost, where it was asked for, and [DONE]', () => {
  const usage = openAiUsageOf({ input: 1, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0 })
  expect(start('hidden').finishFrames(usage, '1.5')).toBe('data: [DONE]\n\n')
  const [frame, done] = start('shown').finishFrames(usage, '1.5').split('\n\n')
  expect(JSON.parse(frame?.slice(6) ?? '')).toEqual({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'demo/echo',
    choices: [],
    usage: { ...usage, cost_rub: '1.5' },
  })
  expect(done).toBe('data: [DONE]')
})

test('a comment is a separate frame', () => {
  expect(chatFormat.keepAlive).toMatch(/^:.*\n\n$/)
})

describe('bytes of an event that differs from an earlier one only in its text', () => {
  const bytesOf = (data: string) => Buffer.from(`data: ${data}\n\n`)

  test('mean what its data means, and count as delivered', () => {
    const [read, parsed] = [start(), start()]
    for (const normaliser of [read, parsed])
      for (const content of ['with its role', ' and without']) normaliser.accept(chunk({ content }))
    for (const content of [' and', ' é世🌍']) {
      const step = read.acceptBytes(bytesOf(chunk({ content })))
      expect(step).toEqual(parsed.accept(chunk({ content })))
      expect(step).toMatchObject({ kind: 'frames' })
    }
    expect(read.delivered.output.countable()).toEqual(parsed.delivered.output.countable())
  })

  test('do so with an empty list of details, and never with a signature', () => {
    const normaliser = start()
    const delta = (content: string, more: object) => chunk({ content, reasoning_details: [], ...more })
    const extra_content = { google: { thought: true } }
    for (const content of ['a', 'b']) normaliser.accept(delta(content, { extra_content }))
    expect(normaliser.acceptBytes(bytesOf(delta('c', { extra_content })))).toBeUndefined()
    normaliser.accept(delta('c', {}))
    expect(normaliser.acceptBytes(bytesOf(delta('d', {})))).toBeDefined()
    expect(normaliser.acceptBytes(bytesOf(delta('e', { extra_content })))).toBeUndefined()
  })

  test('are for the parser before there was one, after another kind, and after the finish', () => {
    const normaliser = start()
    expect(normaliser.acceptBytes(bytesOf(chunk({ content: 'a' })))).toBeUndefined()
    for (const content of ['a', 'b']) normaliser.accept(chunk({ content }))
    expect(normaliser.acceptBytes(bytesOf(chunk({ content: 'c' })))).toBeDefined()
    expect(normaliser.acceptBytes(bytesOf(chunk({ reasoning_content: 'a' })))).toBeUndefined()
    expect(normaliser.acceptBytes(bytesOf(chunk({ content: 'a' }, 'stop')))).toBeUndefined()
    normaliser.accept(chunk({}, 'stop'))
    expect(normaliser.acceptBytes(bytesOf(chunk({ content: 'a' })))).toBeUndefined()
    normaliser.accept('[DONE]')
    expect(normaliser.acceptBytes(bytesOf(chunk({ content: 'a' })))).toBeUndefined()
  })
})

describe("a provider's credential", () => {
  const key = 'hunter2-canary-88'

  /** The text that a client reads of these events, and whether anything was written for each. */
  function read(events: readonly string[], choices = 1) {
    const normaliser = start('hidden', choices, [key])
    const steps = events.map((event) => normaliser.accept(event))
    const text = steps.map((step) => ('text' in step ? step.text : '')).join('')
    const frames = text.split('\n\n').filter((frame) => frame !== '')
    const deltas = frames.map((frame) => JSON.parse(frame.slice(6)).choices[0].delta)
    return { normaliser, kinds: steps.map(({ kind }) => kind), text, deltas }
  }

  const call = (piece: string) =>
    chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: piece } }] })

  test.each([
    ['content', (content: string) => chunk({ content })],
    ['reasoning', (reasoning: string) => chunk({ reasoning })],
    ['refusal', (refusal: string) => chunk({ refusal })],
    ['sound', (transcript: string) => chunk({ audio: { id: 'a', transcript } })],
    ['a tool call', call],
    ['a function call', (piece: string) => chunk({ function_call: { name: 'f', arguments: piece } })],
    [
      'a custom tool',
      (input: string) => chunk({ tool_calls: [{ index: 0, type: 'custom', custom: { name: 'f', input } }] }),
    ],
    ['details of reasoning', (text: string) => chunk({ reasoning_details: [{ index: 0, type: 'x', text }] })],
    ['a citation', (url: string) => chunk({ annotations: [{ index: 0, type: 'x', url }] })],
  ])('is never in %s, in how many pieces it may come', (_what, say) => {
    const said = `"My key is ${key}!"`
    for (let at = 1; at < said.length; at += 1) {
      const { text } = read([say(said.slice(0, at)), say(said.slice(at)), chunk({}, 'stop')])
      const words = [
        ...text.matchAll(
          /"(?:content|reasoning_content|refusal|transcript|arguments|input|text|url)":("(?:[^"\\]|\\.)*")/g,
        ),
      ]
      const shown = words.map(([, word = '']) => JSON.parse(word)).join('')
      expect(shown).not.toContain(key)
      expect(shown.replace(/h[\w-]*(?=\[)/, '')).toBe('"My key is [hidden]!"')
    }
  })

  test('is no name, id, signature or fingerprint, and nothing that a moderation found', () => {
    const item = { id: key, function: { name: key, arguments: '' }, extra_content: { [key]: key } }
    const found = { type: key }
    const fields = { system_fingerprint: key, moderation: { input: found, output: found } }
    const { normaliser, text } = read([
      JSON.stringify({ ...JSON.parse(chunk({ tool_calls: [item] })), ...fields }),
      chunk({}, 'stop'),
    ])
    const usage = openAiUsageOf({ input: 1, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0 })
    const all = text + normaliser.finishFrames(usage, '1')
    expect(all).not.toContain(key)
    expect(all).toContain('[hidden]')
  })

  test('is hidden in chunks that differ from an earlier one in nothing but their text', () => {
    const { text, normaliser } = read(
      ['a', 'b', 'c hun', 'ter2-canary', '-88', ' d'].map((content) => chunk({ content })),
    )
    expect(text).not.toContain('canary')
    const [sameAgain, parsed] = [normaliser, read(['a', 'b'].map((content) => chunk({ content }))).normaliser]
    for (const content of ['e', ' hun', 'ter', 's', key, 'h', 'hunter2', '-canary-88!']) {
      const step = sameAgain.acceptBytes(Buffer.from(`data: ${chunk({ content })}\n\n`))
      expect(step).toEqual(parsed.accept(chunk({ content })))
      expect(JSON.stringify(step)).not.toContain('canary')
    }
  })

  test('holds nothing back beyond the finish reason, not even a usage that came before it', () => {
    const usage = { prompt_tokens: 1 }
    const counted = JSON.stringify({ ...JSON.parse(chunk({ content: ' hunter2' })), usage })
    const { deltas, normaliser } = read([chunk({ content: 'I' }), counted, chunk({}, 'stop')])
    expect(deltas.slice(1)).toEqual([{ content: 'I' }, { content: ' ' }, { content: 'hunter2' }, {}])
    expect(normaliser.usage()).toEqual(usage)
    expect(normaliser.delivered.output.countable().parts).toEqual(['I hunter2'])
  })

  test('lets a response that is only a beginning end well, even if only [DONE] follows', () => {
    const { kinds, deltas } = read([chunk({ content: 'h' }), '[DONE]'])
    expect(kinds).toEqual(['nothing', 'ended'])
    expect(deltas).toEqual([{ role: 'assistant', content: '', refusal: null }, { content: 'h' }, {}])
  })

  test('holds nothing back of an answer that is cut', () => {
    const pieces = [chunk({ content: 'I hunt' }), chunk({ content: 'oh' }, null, 1), 'nonsense']
    const { normaliser } = read(pieces, 2)
    const frames = normaliser.heldFrames()
    expect(
      [...frames.matchAll(/"index":(\d),"delta":\{"content":"(\w+)"/g)].map(([, ...said]) => said),
    ).toEqual([
      ['0', 'hunt'],
      ['1', 'h'],
    ])
    expect(normaliser.heldFrames()).toBe('')
  })

  test('takes its log probabilities with it', () => {
    const said = (content: string) => {
      const logprobs = { content: [{ token: content, logprob: -1 }] }
      return JSON.stringify({ choices: [{ index: 0, delta: { content }, logprobs }] })
    }
    const { text } = read([
      said('My '),
      said('hunter2'),
      said('-canary-88'),
      said('.'),
      said(' h'),
      chunk({}, 'stop'),
    ])
    const tokens = [...text.matchAll(/"token":"(.*?)"/g)].map(([, token]) => token)
    expect(tokens).toEqual(['My ', '.', ' h'])
  })
})
