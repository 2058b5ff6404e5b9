import { expect, test } from 'vitest'
import { requestIdOf, timeOfRequest } from '#core/ledger/request-id'
import { chatFormat } from '../formats/chat-format.ts'
import { messagesRejections } from '../formats/messages-format.ts'
import { createResponsesFormat } from '../formats/responses-format.ts'
import { nothingAsked } from '../requests/responses-asked.ts'
import { newRequestId } from './request-id.ts'

test('a request id is a UUIDv7 that carries its time', () => {
  const id = newRequestId(0x0195_1234_5678)
  expect(id).toMatch(/^01951234-5678-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(newRequestId(0x0195_1234_5678)).not.toBe(id)
  expect(timeOfRequest(id)).toBe(0x0195_1234_5678)
})

test('the id of an answer finds its request, and so does the request’s own', () => {
  const responsesFormat = createResponsesFormat(nothingAsked, { encrypt: () => undefined, nowS: () => 0 })
  for (const { idOf } of [chatFormat, responsesFormat, messagesRejections])
    expect(requestIdOf(idOf('0195-1'))).toBe('0195-1')
  expect(requestIdOf('0195-1')).toBe('0195-1')
})
