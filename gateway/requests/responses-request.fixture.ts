import { expect } from 'vitest'
import { resultOf } from '../wire/result-of.fixture.ts'
import { parseChatRequest } from './chat-request.ts'
import { parseResponsesRequest } from './responses-request.ts'

/** A parsed request for the model `a/b`, or its rejection. */
export const parseResponses = (body: object) => resultOf(parseResponsesRequest({ model: 'a/b', ...body }))

/** A request that can be read; as a chat it is valid, too. */
export function readResponses(body: object) {
  const parsed = parseResponses(body)
  if ('refusal' in parsed) throw new Error(parsed.refusal.message)
  expect(parseChatRequest(JSON.parse(JSON.stringify(parsed.request)))).not.toHaveProperty('refusal')
  return parsed
}

/** Name and place of each part that is dropped. */
export const droppedOf = (body: object) => readResponses(body).dropped.map(({ name, path }) => [name, path])

/** A call of a function as an item. */
export const callItem = (call_id: string, name = 'f') => ({
  type: 'function_call',
  call_id,
  name,
  arguments: '{}',
})

/** The output of a call as an item. */
export const outputItem = (call_id: string, given: unknown = 'done') => ({
  type: 'function_call_output',
  call_id,
  output: given,
})
