import { expect, test } from 'vitest'
import type { SignedReasoning } from '../formats/signed-reasoning.ts'
import type { ChatMessage } from '../requests/chat-request.ts'
import { encryptedDetail } from '../requests/encrypted-detail.ts'
import { resultOf } from '../wire/result-of.fixture.ts'
import { decryptReasoning, hasEncrypted } from './decrypt-reasoning.ts'

const user = { role: 'user', content: 'Hi' }
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const detail = (signature: string) => ({ type: 'reasoning.text', signature })
const known: Readonly<Record<string, SignedReasoning>> = {
  thought: {
    origin: 'a',
    details: [{ ...detail('1'), origin: 'own' }, detail('2')],
    calls: {},
    content: null,
  },
  called: { origin: 'b', details: [], calls: { c: { google: 1 } }, content: { google: 2 } },
}

const decrypt = (...messages: readonly ChatMessage[]) =>
  resultOf(decryptReasoning({ model: 'a/b', messages }, (encrypted) => known[encrypted]))

const encrypted = (...texts: readonly string[]) => texts.map((data) => ({ type: encryptedDetail, data }))

test('signatures are where chats have them, with the mark of their provider', () => {
  const message = {
    role: 'assistant',
    content: 'Hi',
    reasoning_content: 'Hm.',
    reasoning_details: encrypted('thought', 'called'),
    tool_calls: [call('c'), call('d')],
  }
  expect(hasEncrypted({ model: 'a/b', messages: [user, message] })).toBe(true)
  expect(decrypt(user, message)).toEqual({
    signedBy: 'b',
    request: {
      model: 'a/b',
      messages: [
        user,
        {
          role: 'assistant',
          content: 'Hi',
          reasoning_content: 'Hm.',
          reasoning_details: [
            { ...detail('1'), origin: 'own' },
            { ...detail('2'), origin: 'a' },
          ],
          extra_content: { google: 2, gateway: { origin: 'b' } },
          tool_calls: [{ ...call('c'), extra_content: { google: 1, gateway: { origin: 'b' } } }, call('d')],
        },
      ],
    },
  })
})

test('what cannot be decrypted is left out', () => {
  const message = {
    role: 'assistant',
    content: null,
    reasoning_details: encrypted('foreign'),
    tool_calls: [call('c')],
  }
  const { reasoning_details, ...bare } = message
  expect(reasoning_details).toHaveLength(1)
  expect(decrypt(user, message)).toEqual({ request: { model: 'a/b', messages: [user, bare] } })
})

test('a request without encrypted reasoning has none', () => {
  const messages = [user, { role: 'assistant', content: 'Hi', reasoning_content: 'Hm.' }]
  expect(hasEncrypted({ model: 'a/b', messages })).toBe(false)
})
