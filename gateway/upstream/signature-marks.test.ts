import { expect, test } from 'vitest'
import { contentWithMark, withMark, withoutMarks } from './signature-marks.ts'

const detail = { type: 'reasoning.text', signature: 's' }
const content = { google: { thought_signature: 's' } }

test('signatures get the mark of the provider that sent them, unless they have one', () => {
  expect(withMark(detail, 'a')).toEqual({ ...detail, origin: 'a' })
  expect(withMark({ ...detail, origin: 'b' }, 'a')).toEqual({ ...detail, origin: 'b' })
  const marked = contentWithMark(content, 'a')
  expect(marked).toEqual({ ...content, gateway: { origin: 'a' } })
  expect(contentWithMark(marked, 'b')).toBe(marked)
})

test('a provider gets its signatures without marks, as it sent them', () => {
  const call = { id: '1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const conversation = (mark: object, gateway: object) => [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      extra_content: { ...content, ...gateway },
      reasoning_details: [{ ...detail, ...mark }],
      tool_calls: [{ ...call, extra_content: { ...content, ...gateway } }, call],
    },
  ]
  const bare = conversation({}, {})
  expect(withoutMarks(conversation({ origin: 'a' }, { gateway: { origin: 'a' } }))).toEqual(bare)
  expect(withoutMarks(bare)).toBe(bare)
})
