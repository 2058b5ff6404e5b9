import { expect, test } from 'vitest'
import type { ChatMessage } from '../../requests/chat-request.ts'
import { LongText } from '../../wire/long-text.ts'
import { affinityOf, type SessionTraces } from './session-affinity.ts'

const system = { role: 'system', content: 'Be brief.' }
const user = (content: unknown): ChatMessage => ({ role: 'user', content })

type Given = Partial<Omit<SessionTraces, 'request'>> & {
  readonly key?: unknown
  readonly messages?: readonly ChatMessage[]
  readonly organization?: string
}

function of({ key, messages = [system, user('Hi')], organization = 'o', ...traces }: Given) {
  const request = { model: 'a/b', messages, ...(key === undefined ? {} : { prompt_cache_key: key }) }
  return affinityOf({ request, session: null, bodyBytes: 4096, ...traces }, organization)
}

test('a request with a name for its cache is of that session, whatever its content and however short it is', () => {
  const named = of({ key: 'k' })
  expect(of({ key: 'k', messages: [user('Other words')], session: 's', bodyBytes: 1 })).toBe(named)
  expect(of({ key: 'l' })).not.toBe(named)
  expect(of({ key: 'k', organization: 'p' }), 'another organization has names of its own').not.toBe(named)
  expect(of({ key: '', session: 's' })).toBe(of({ session: 's' }))
})

test('a request whose client names its session is of that session', () => {
  expect(of({ session: 's', bodyBytes: 1 })).toBe(of({ session: 's', messages: [user('Other words')] }))
  expect(of({ session: 't' })).not.toBe(of({ session: 's' }))
})

test('other requests are of the session whose conversation begins in the same way, once it can be cached', () => {
  const first = of({})
  const later = [system, user('Hi'), { role: 'assistant', content: 'Hello' }, user('Go on')]
  expect(of({ messages: later })).toBe(first)
  expect(of({ messages: [system, user('Ho')] })).not.toBe(first)
  expect(of({ messages: [{ ...system, content: 'Be long.' }, user('Hi')] })).not.toBe(first)
  expect(of({ messages: [user('Hi')] })).not.toBe(first)
  expect(of({ bodyBytes: 4095 })).toBeUndefined()
})

test('parts and long texts are read, little of them, and nothing makes it fail', () => {
  const parts = (text: string) => of({ messages: [user([{ type: 'text', text }, { type: 'image_url' }])] })
  expect(parts('a')).toBe(parts('a'))
  expect(parts('a')).not.toBe(parts('b'))
  const long = (end: string) => of({ messages: [user(new LongText(['x'.repeat(500_000), end]))] })
  expect(long('a')).toBe(long('b'))
  expect(long('a')).not.toBe(long('bb'))
  expect(String(of({ key: new LongText(['x'.repeat(500_000), 'x']) })).length).toBeLessThan(2_000)
  const many = Array.from({ length: 1_000 }, () => ({ ...system, content: 'x'.repeat(5_000) }))
  expect(String(of({ messages: many })).length).toBeLessThan(10_000)
  for (const content of [undefined, null, 5, {}, [null, 'x', { text: 5 }]])
    expect(of({ messages: [user(content)] })).toBeDefined()
  expect(of({ messages: [] })).toBeDefined()
})
