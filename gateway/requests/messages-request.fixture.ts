import { expect } from 'vitest'
import { resultOf } from '../wire/result-of.fixture.ts'
import { parseChatRequest } from './chat-request.ts'
import { parseMessagesRequest } from './messages-request.ts'

/** A parsed request for the model `a/b`, or its rejection. */
export const parseMessages = (body: object) =>
  resultOf(parseMessagesRequest({ model: 'a/b', max_tokens: 100, ...body }))

/** A request that can be read; as a chat it is valid, too. */
export function readMessages(body: object) {
  const parsed = parseMessages(body)
  if ('refusal' in parsed) throw new Error(parsed.refusal.message)
  expect(parseChatRequest(JSON.parse(JSON.stringify(parsed.request)))).not.toHaveProperty('refusal')
  return parsed
}
