import { describe, expect, test } from 'vitest'
import { LongText } from '../../../../wire/long-text.ts'
import { markedContent, originOf } from '../../signature-origin.ts'
import { rejectionOf, type Settings, sentFor } from './written-chat.fixture.ts'

const hi = { role: 'user', content: 'Hi' }
const sentHi = { role: 'user', parts: [{ text: 'Hi' }] }
const lost = 'skip_thought_signature_validator'
const own = originOf('google')

const call = (id: string, name = 'f', args = '{}', extra: object = {}) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
  ...extra,
})
const calling = (...tool_calls: readonly object[]) => ({ role: 'assistant', content: null, tool_calls })
const result = (id: string, content: unknown = 'ok') => ({ role: 'tool', tool_call_id: id, content })
const signedBy = (origin: string | undefined, thought_signature = 'c2lnbmVk') => ({
  extra_content:
    origin === undefined
      ? { google: { thought_signature } }
      : markedContent({ google: { thought_signature } }, origin),
})

/** Before Gemini 3: nothing must be signed. */
const older: Settings = { model: 'gemini-2.0-flash' }
const contentsOf = async (messages: readonly object[], settings: Settings = older) =>
  (await sentFor({ messages }, settings)).sent.contents

describe('messages', () => {
  test('leading system and developer messages are the instruction; later ones are a user’s', async () => {
    const { sent } = await sentFor({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        hi,
        { role: 'assistant', content: 'Hello' },
        { role: 'system', content: 'Now be long.' },
        { role: 'user', name: 'planner', content: 'Go on' },
      ],
    })
    expect(sent.systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
    expect(sent.contents).toEqual([
      sentHi,
      { role: 'model', parts: [{ text: 'Hello' }] },
      { role: 'user', parts: [{ text: 'Now be long.' }, { text: 'Go on' }] },
    ])
  })

  test('messages of one side in a row are one content, and empty texts are nothing', async () => {
    const messages = [
      hi,
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'there' },
        ],
      },
      { role: 'assistant', content: '' },
      { role: 'user', content: '' },
      { role: 'assistant', content: 'One' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No' }] },
      { role: 'assistant', content: null, refusal: 'Never' },
    ]
    expect(await contentsOf(messages)).toEqual([
      { role: 'user', parts: [{ text: 'Hi' }, { text: 'there' }] },
      { role: 'model', parts: [{ text: 'One' }, { text: 'No' }, { text: 'Never' }] },
    ])
  })

  test('a request with instructions only asks with them', async () => {
    const { sent } = await sentFor({ messages: [{ role: 'system', content: 'Greet me.' }] })
    expect(sent).not.toHaveProperty('systemInstruction')
    expect(sent.contents).toEqual([{ role: 'user', parts: [{ text: 'Greet me.' }] }])
  })

  test('an assistant’s message may be the last, with text or with calls', async () => {
    const model = { role: 'model', parts: [{ text: 'Once upon' }] }
    expect(await contentsOf([hi, { role: 'assistant', content: 'Once upon' }])).toEqual([sentHi, model])
    expect(await contentsOf([hi, calling(call('a'))])).toHaveLength(2)
  })

  test('a text in pieces stays in pieces', async () => {
    const { call } = await sentFor({ messages: [{ role: 'user', content: new LongText(['He', 'llo']) }] })
    expect(call.json.contents).toEqual([{ role: 'user', parts: [{ text: new LongText(['He', 'llo']) }] }])
  })

  test.each([
    [[{ role: 'user', content: '' }], 'messages'],
    [[calling(call('a'))], 'messages'],
    [[hi, { role: 'function', name: 'f', content: '1' }], 'messages[1].role'],
    [[hi, { role: 'assistant', function_call: { name: 'f', arguments: '{}' } }], 'messages[1].function_call'],
    [
      [hi, { role: 'assistant', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
      'messages[1].content[0].type',
    ],
    [[{ role: 'system', content: [{ type: 'file' }] }, hi], 'messages[0].content[0].type'],
  ])('what it cannot express is a 400 that names the field: %j', async (messages, param) => {
    const failure = await rejectionOf({ messages })
    expect(failure).toMatchObject({ kind: 'bad_request', recovery: 'other_backend', param })
  })
})

describe('calls and results', () => {
  const both = calling(call('a', 'f', '{"x":9007199254740993}'), call('b', 'g', ''))

  test('results of several calls are one content, in the order of the calls', async () => {
    const messages = [hi, both, result('b', '{"n": 12345678901234567890}'), result('a', 'rain'), hi]
    const { sent, text } = await sentFor({ messages }, older)
    expect(sent.contents.slice(2)).toEqual([
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { result: 'rain' } } },
          { functionResponse: { name: 'g', response: { n: expect.any(Number) } } },
        ],
      },
      sentHi,
    ])
    expect(text).toContain('"args":{"x":9007199254740993}')
    expect(text).toContain('"args":{}')
    expect(text).toContain('{"n":12345678901234567890}')
  })

  test.each([
    ['[1]', { result: '[1]' }],
    ['{"a":', { result: '{"a":' }],
    ['', { result: '' }],
    [
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      { result: 'ab' },
    ],
    [`{"a":${'['.repeat(300)}${']'.repeat(300)}}`, { result: expect.stringContaining('[[') }],
  ])('a result that is no object becomes one: %j', async (content, response) => {
    const [, , results] = await contentsOf([hi, calling(call('a')), result('a', content)])
    expect(results.parts).toEqual([{ functionResponse: { name: 'f', response } }])
  })

  test('calls with one id have their results in order', async () => {
    const [, , results] = await contentsOf([
      hi,
      calling(call('a'), call('a', 'g')),
      result('a', '1'),
      result('a', '2'),
    ])
    expect(results.parts).toMatchObject([
      { functionResponse: { name: 'f', response: { result: '1' } } },
      { functionResponse: { name: 'g', response: { result: '2' } } },
    ])
  })

  test('a conversation that begins with a call begins with its instructions', async () => {
    const { sent } = await sentFor({
      messages: [{ role: 'system', content: 'Act.' }, calling(call('a')), result('a')],
    })
    expect(sent.contents.map(({ role }: { role: string }) => role)).toEqual(['user', 'model', 'user'])
    expect(sent.contents[0].parts).toEqual([{ text: 'Act.' }])
  })

  test.each([
    ['an unknown result', [hi, both, result('c')], 'messages[2].tool_call_id'],
    ['a result without a call', [hi, result('a')], 'messages[1].tool_call_id'],
    ['two results for one call', [hi, both, result('a'), result('a')], 'messages[3].tool_call_id'],
    ['a missing result', [hi, both, result('a'), hi], 'messages[1].tool_calls[1].id'],
    ['a missing result at the end', [hi, both, result('b')], 'messages[1].tool_calls[0].id'],
    ['no result', [hi, both, hi], 'messages[1].tool_calls[0].id'],
    [
      'an image as result',
      [hi, calling(call('a')), result('a', [{ type: 'image_url', image_url: { url: 'x' } }])],
      'messages[2].content[0].type',
    ],
    [
      'arguments that are no object',
      [hi, calling(call('a', 'f', '[]'))],
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'arguments that are no JSON',
      [hi, calling(call('a', 'f', '{'))],
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'arguments nested too deep',
      [hi, calling(call('a', 'f', `{"a":${'['.repeat(9999)}${']'.repeat(9999)}}`))],
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'arguments too long to be parsed at once',
      [hi, calling(call('a', 'f', `{"a":"${'x'.repeat(1024 * 1024)}"}`))],
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'a custom call',
      [hi, calling({ id: 'a', type: 'custom', custom: { name: 'f', input: 'x' } })],
      'messages[1].tool_calls[0].function',
    ],
  ])('%s is a 400 that names the field', async (_, messages, param) => {
    expect(await rejectionOf({ messages })).toMatchObject({ kind: 'bad_request', param })
  })
})

describe('signatures', () => {
  const signaturesOf = async (messages: readonly object[], settings: Settings = {}) => {
    const contents = await contentsOf(messages, settings)
    return contents.map(({ parts }: { parts: readonly object[] }) =>
      parts.map((part) => ('thoughtSignature' in part ? part.thoughtSignature : '')),
    )
  }

  test('a call’s own signature comes back, byte for byte', async () => {
    const signature = 'AbC+/9=='
    const messages = [
      hi,
      calling(call('a', 'f', '{}', signedBy(own, signature)), call('b')),
      result('a'),
      result('b'),
    ]
    expect(await signaturesOf(messages)).toEqual([[''], [signature, ''], ['', '']])
  })

  test.each([
    ['another provider', signedBy('other'), 'kept' as const],
    ['no known provider, after a fallback', signedBy(undefined), 'removed' as const],
    ['nobody', {}, 'kept' as const],
  ])(
    'a call signed by %s gets the placeholder, the first of parallel ones only',
    async (_, extra, unmarked) => {
      const messages = [
        hi,
        calling(call('a', 'f', '{}', extra), call('b', 'f', '{}', extra)),
        result('a'),
        result('b'),
      ]
      expect(await signaturesOf(messages, { unmarked })).toEqual([[''], [lost, ''], ['', '']])
      expect((await signaturesOf(messages, { ...older, unmarked })).flat().filter(Boolean)).toEqual([])
    },
  )

  test('a signature without a mark is kept for the first provider', async () => {
    const messages = [hi, calling(call('a', 'f', '{}', signedBy(undefined, 'eA=='))), result('a')]
    expect(await signaturesOf(messages)).toEqual([[''], ['eA=='], ['']])
  })

  test('each step of the current turn has one, and earlier turns need none', async () => {
    const step = (id: string) => [calling(call(id)), result(id)]
    const messages = [hi, ...step('a'), hi, ...step('b'), ...step('c')]
    expect(await signaturesOf(messages)).toEqual([[''], [''], [''], [''], [lost], [''], [lost], ['']])
  })

  test('a message’s signature is that of its last text, which is not joined with others', async () => {
    const said = { role: 'assistant', content: 'Hello', ...signedBy(own) }
    expect(await contentsOf([hi, { role: 'assistant', content: 'Well.' }, said])).toEqual([
      sentHi,
      { role: 'model', parts: [{ text: 'Well.' }, { text: 'Hello', thoughtSignature: 'c2lnbmVk' }] },
    ])
    const silent = { role: 'assistant', content: null, ...signedBy(own) }
    expect((await contentsOf([hi, silent]))[1].parts).toEqual([{ text: '', thoughtSignature: 'c2lnbmVk' }])
    expect(await contentsOf([hi, { ...said, ...signedBy('other') }])).toEqual([
      sentHi,
      { role: 'model', parts: [{ text: 'Hello' }] },
    ])
  })

  test('reasoning of earlier messages stays out', async () => {
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 's' }]
    const said = { role: 'assistant', content: 'Hello', reasoning_content: 'hm', reasoning_details: details }
    expect(await contentsOf([hi, said])).toEqual([sentHi, { role: 'model', parts: [{ text: 'Hello' }] }])
  })
})
