import { field, general, noList, typed, unknown } from './gemini-rejections.ts'
import type { Rule } from './gemini-requests.ts'
import { geminiSignature } from './gemini-signature.ts'

const corrupted = 'Corrupted thought signature.'
const tooManyTurns =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
const callOrder =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
const resultOrder = 'Please ensure that function response turn comes immediately after a function call turn.'
const noSignature =
  'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:get_weather` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.'
const badImage =
  'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting'
const userText = { role: 'user', parts: [{ text: 'Hi' }] }
const aCall = { functionCall: { name: 'get_weather', args: {} } }
const [head, tail] = [geminiSignature().slice(0, 4), geminiSignature().slice(5)]
const changed = `${head}${geminiSignature()[4] === 'A' ? 'B' : 'A'}${tail}`

/** What the server rejects in fields, contents, parts and turns. */
export const contentRules: readonly Rule[] = [
  ['an unknown field', 'text', ['foo', 1], unknown('foo', '')],
  [
    'an unknown field of a part',
    'text',
    ['contents.0.parts.0.foo', 1],
    unknown('foo', 'contents[0].parts[0]'),
  ],
  ['an unknown setting', 'full', ['generationConfig.foo', 1], unknown('foo', 'generation_config')],
  ['an unknown field of a count', 'tokens', ['foo', 1], unknown('foo', '')],
  [
    'a text that is a number',
    'text',
    ['contents.0.parts.0.text', 1],
    "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1",
  ],
  [
    'a text that is an object',
    'text',
    ['contents.0.parts.0.text', {}],
    "Invalid value at 'contents[0].parts[0]' (text), Starting an object on a scalar field",
  ],
  ['a content that is a text', 'text', ['contents.0', 'SOME'], typed('contents[0]', 'Content')],
  ['no contents', 'text', ['contents', undefined], field('contents', 'contents is not specified')],
  ['empty contents', 'text', ['contents', []], field('contents', 'contents is not specified')],
  ['a role of OpenAI', 'full', ['contents.1.role', 'assistant'], 'Please use a valid role: user, model.'],
  ['a role of the system', 'text', ['contents.0.role', 'system'], 'Please use a valid role: user, model.'],
  [
    'a content without parts',
    'text',
    ['contents.0.parts', []],
    field('contents[0].parts', 'contents.parts must not be empty.'),
  ],
  [
    'an empty part',
    'text',
    ['contents.0.parts.0', {}],
    field('contents[0].parts[0].data', "required oneof field 'data' must have one initialized field"),
  ],
  [
    'a thought without data',
    'text',
    ['contents.0.parts.0', { thought: true }],
    field('contents[0].parts[0].data', "required oneof field 'data' must have one initialized field"),
  ],
  [
    'a part of two kinds',
    'text',
    ['contents.0.parts.0.inlineData', {}],
    "Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'inlineData'",
  ],
  [
    'an empty part of the instruction',
    'full',
    ['systemInstruction.parts.0', {}],
    field('system_instruction.parts[0].data', "required oneof field 'data' must have one initialized field"),
  ],
  [
    'invalid base64',
    'full',
    ['contents.0.parts.1.inlineData.data', 'a b'],
    `Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed for "a b"`,
  ],
  [
    'an unknown media type',
    'full',
    ['contents.0.parts.1.inlineData.mimeType', 'image/gif'],
    'Unsupported MIME type: image/gif',
  ],
  ['an image that is none', 'full', ['contents.0.parts.1.inlineData.data', 'PGh0bWw+'], badImage],
  [
    'a file by plain HTTP',
    'full',
    ['contents.2.parts.0.fileData.fileUri', 'http://example.com/a.png'],
    'Invalid or unsupported file uri: http://example.com/a.png',
  ],
  [
    'a file on a private host',
    'full',
    ['contents.2.parts.0.fileData.fileUri', 'https://127.0.0.1/a.png'],
    'Cannot fetch content from the provided URL.',
  ],
  [
    'a URL for an older model',
    'file',
    ['contents.0.parts.0.fileData.fileUri', 'https://example.com/a.png'],
    'Invalid or unsupported file uri: https://example.com/a.png',
  ],
  ['a call first', 'calls', ['contents.0', { role: 'model', parts: [aCall] }], callOrder],
  ['a call after an answer', 'calls', ['contents.0.role', 'model'], callOrder],
  ['a result without a call', 'calls', ['contents.1.parts', [{ text: 'Hi' }]], resultOrder],
  ['a missing result', 'calls', ['contents.2.parts.1', undefined], tooManyTurns],
  ['a prompt instead of results', 'calls', ['contents.2', userText], tooManyTurns],
  ['a result of the model', 'calls', ['contents.2.role', 'model'], general],
  [
    'a result without a name',
    'calls',
    ['contents.2.parts.0.functionResponse.name', undefined],
    field('contents[2].parts[0].function_response.name', 'Name cannot be empty.'),
  ],
  ['a call without a name', 'calls', ['contents.1.parts.1.functionCall.name', ''], general],
  [
    'a result that is a text',
    'calls',
    ['contents.2.parts.0.functionResponse.response', 'rain'],
    `Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "rain"`,
  ],
  [
    'a result that is a list',
    'calls',
    ['contents.2.parts.0.functionResponse.response', []],
    `Invalid JSON payload received. Unknown name "response" at 'contents[2].parts[0].function_response': ${noList}`,
  ],
  [
    'arguments as text',
    'calls',
    ['contents.1.parts.0.functionCall.args', '{}'],
    `Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), "{}"`,
  ],
  ['a call without its signature', 'calls', ['contents.1.parts.0.thoughtSignature', undefined], noSignature],
  ['a signature with one other byte', 'calls', ['contents.1.parts.0.thoughtSignature', changed], corrupted],
  [
    'a signature that was invented',
    'pastCalls',
    ['contents.1.parts.0.thoughtSignature', 'aW52ZW50ZWQ='],
    corrupted,
  ],
  [
    'a signature that is no base64',
    'calls',
    ['contents.1.parts.0.thoughtSignature', '!'],
    `Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for "!"`,
  ],
  ['a call of the current turn without a signature', 'pastCalls', ['contents.4', undefined], noSignature],
]
