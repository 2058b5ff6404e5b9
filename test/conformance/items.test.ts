import { createResponsesFormat } from '#gateway/formats/responses-format'
import { parseResponsesRequest } from '#gateway/requests/responses-request'
import { resultOf } from '#gateway/wire/result-of.fixture'
import { expectResponse, expectStream, readEvents } from '../support/response-events.ts'
import { itemCases, itemKinds } from './turn-cases.ts'
import { encrypt } from './turn-play.ts'
import { testTurns } from './turn-tests.ts'

type Fields = { readonly [field: string]: unknown }

const hi = { role: 'user', content: 'Hi' }

testTurns(itemKinds, itemCases, {
  ask(asked, mode) {
    const body = { model: 'a/model', input: [hi], ...asked, stream: mode === 'stream' }
    const parsed = resultOf(parseResponsesRequest(body))
    if ('refusal' in parsed) throw new Error(`${parsed.refusal.param}: ${parsed.refusal.message}`)
    return {
      request: parsed.request,
      dropped: parsed.dropped.map(({ name }) => name),
      createFormat: () => createResponsesFormat(parsed.asked, { encrypt, nowS: () => 1_800_000_001 }),
    }
  },
  readWhole: checked,
  readStream: (text) => checked(expectStream(readEvents(text))),
  outputOf: ({ output }) => output as Fields[],
  callId: 'call_id',
  next: ({ input = [hi], ...asked }, output, then) => ({
    ...asked,
    input: [...(input as object[]), ...output, ...then],
  }),
})

function checked(response: Fields): Fields {
  expectResponse(response)
  return response
}
