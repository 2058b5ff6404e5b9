import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LongText } from '../wire/long-text.ts'
import { parseChatRequest } from './chat-request.ts'
import { fuzzedValues } from './fuzzed-values.fixture.ts'
import { parseMessages } from './messages-request.fixture.ts'

const leaf = fc.oneof(
  fc.constantFrom(null, true, 0, 1.5, '', 'x', [], {}, new LongText(['a', 'b']), JSON.rawJSON('1e400')),
  fc.string(),
)
const types = [
  ...[
    'text',
    'image',
    'document',
    'search_result',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'tool_result',
  ],
  ...[
    'tool_reference',
    'server_tool_use',
    'base64',
    'url',
    'content',
    'auto',
    'any',
    'tool',
    'enabled',
    'disabled',
  ],
  ...['custom', 'web_search_20260318', 'json_schema', '__proto__'],
]
const names = [
  ...[
    'role',
    'content',
    'id',
    'tool_use_id',
    'name',
    'input',
    'text',
    'source',
    'data',
    'url',
    'title',
    'thinking',
  ],
  ...[
    'signature',
    'is_error',
    'cache_control',
    'tool_name',
    'input_schema',
    'defer_loading',
    'budget_tokens',
  ],
  ...['effort', 'format', 'schema', 'output_config', '__proto__', 'constructor'],
]
const known = fc.constantFrom('user', 'assistant', 'system', 'f', 'c1', 'c2', 'high')
const value = fuzzedValues({ leaf, types, names, known, maxDepth: 5 })
const fields = [
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'stop_sequences',
  'stream',
]
const body = fc.dictionary(fc.constantFrom(...fields, 'invented'), value, { maxKeys: 4 })
const block = fc
  .tuple(
    fc.constantFrom(...types),
    fc.dictionary(fc.constantFrom(...names), fc.oneof(known, value), { maxKeys: 5 }),
  )
  .map(([type, given]) => ({ ...given, type }))
const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system'),
  content: fc.oneof(fc.string(), fc.array(block, { maxLength: 4 }), value),
})

test('any body is a chat or a rejection that names a field, and never crashes', () => {
  fc.assert(
    fc.property(body, fc.array(fc.oneof(message, value), { maxLength: 5 }), (given, messages) => {
      const parsed = parseMessages({ ...given, messages })
      if ('refusal' in parsed) {
        expect(parsed.refusal).toMatchObject({ code: 'invalid_value', param: expect.any(String) })
        return
      }
      expect(parseChatRequest(parsed.request)).not.toHaveProperty('refusal')
    }),
    { numRuns: 3_000 },
  )
})
