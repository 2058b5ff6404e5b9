import { createMessagesFormat } from '#gateway/formats/messages-format'
import { parseMessagesRequest } from '#gateway/requests/messages-request'
import { resultOf } from '#gateway/wire/result-of.fixture'
import { expectMessage, expectMessageStream, readMessageEvents } from '../support/message-events.ts'
import { blockCases, blockKinds } from './turn-cases.ts'
import { encrypt } from './turn-play.ts'
import { testTurns } from './turn-tests.ts'

type Fields = { readonly [field: string]: unknown }

const hi = { role: 'user', content: 'Hi' }

testTurns(blockKinds, blockCases, {
  ask(asked, mode) {
    const body = { model: 'a/model', max_tokens: 4_096, messages: [hi], ...asked, stream: mode === 'stream' }
    const parsed = resultOf(parseMessagesRequest(body))
    if ('refusal' in parsed) throw new Error(`${parsed.refusal.param}: ${parsed.refusal.message}`)
    return {
      request: parsed.request,
      dropped: parsed.dropped.filter(({ isExtra }) => !isExtra).map(({ name }) => name),
      createFormat: () => createMessagesFormat(parsed.asked, { encrypt, promptTokens: () => 7 }),
    }
  },
  readWhole(message) {
    expectMessage(message)
    return message
  },
  readStream: (text) => expectMessageStream(readMessageEvents(text)),
  outputOf: ({ content }) => content as Fields[],
  callId: 'id',
  next: ({ messages = [hi], ...asked }, content, then) => ({
    ...asked,
    messages: [...(messages as object[]), { role: 'assistant', content }, ...then],
  }),
})
