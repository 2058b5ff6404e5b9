import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LongText } from '../wire/long-text.ts'
import { parseChatRequest } from './chat-request.ts'
import { fuzzedValues } from './fuzzed-values.fixture.ts'
import { parseResponses } from './responses-request.fixture.ts'

/** Values that bodies hold, right or wrong, often enough of the right type. */
const leaf = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    1.5,
    '',
    'x',
    'rs_1',
    [],
    {},
    new LongText(['a', 'b']),
    JSON.rawJSON('1e400'),
  ),
  fc.string(),
)
const types = [
  ...[
    'message',
    'reasoning',
    'function_call',
    'function_call_output',
    'custom_tool_call',
    'custom_tool_call_output',
  ],
  ...[
    'tool_search_call',
    'tool_search_output',
    'additional_tools',
    'item_reference',
    'function',
    'custom',
    'namespace',
  ],
  ...[
    'tool_search',
    'allowed_tools',
    'input_text',
    'input_image',
    'input_file',
    'output_text',
    'json_schema',
    '__proto__',
  ],
]
const names = [
  ...[
    'role',
    'content',
    'id',
    'call_id',
    'name',
    'namespace',
    'arguments',
    'input',
    'output',
    'summary',
    'tools',
  ],
  ...[
    'encrypted_content',
    'execution',
    'text',
    'image_url',
    'file_data',
    'parameters',
    'format',
    'mode',
    'schema',
  ],
  ...['__proto__', 'constructor', 'effort', 'status'],
]
const known = fc.constantFrom('user', 'assistant', 'f', 'c1', 'c2', 'client', 'auto')
const value = fuzzedValues({ leaf, types, names, known, maxDepth: 4 })
const fields = [
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'include',
  'stream',
  'metadata',
]
const body = fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 5 })
const items = fc.array(value, { minLength: 1, maxLength: 6 })

test('any body is a chat or a rejection that names a field, and never crashes', () => {
  fc.assert(
    fc.property(body, items, fc.boolean(), (fields, input, isList) => {
      const parsed = parseResponses({ ...fields, ...(isList ? { input } : {}) })
      if ('refusal' in parsed) {
        expect(parsed.refusal).toMatchObject({ code: 'invalid_value', param: expect.any(String) })
        return
      }
      expect(() => JSON.stringify(parsed.asked.repeated)).not.toThrow()
      expect(parseChatRequest(parsed.request)).not.toHaveProperty('refusal')
    }),
    { numRuns: 3_000 },
  )
})
