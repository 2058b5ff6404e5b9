import { expect, test } from 'vitest'
import { errorBody, refusal } from '#core/errors/refusal'
import { chatFormat } from './chat-format.ts'

test('an error in a stream is one frame with the body that it has elsewhere', () => {
  const error = refusal('internal_error', 'It failed.')
  expect(chatFormat.writeStreamError(error, 'a request')).toBe(`data: ${errorBody(error, 'a request')}\n\n`)
  expect(chatFormat.writeError(error, 'a request')).toBe(errorBody(error, 'a request'))
})

test('roles are written once each, those of earlier choices first', () => {
  const stream = {
    requestId: '1',
    model: 'a/b',
    createdS: 1,
    origin: 'provider',
    usage: 'hidden',
    writeJson: JSON.stringify,
  } as const
  const writer = chatFormat.createStreamWriter(stream)
  const text = { kind: 'text', text: 'Hi', logprobs: null, signed: undefined } as const
  const choicesOf = (frames: string) =>
    frames
      .split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame) => JSON.parse(frame.slice('data: '.length)).choices[0])
  expect(writer.textFrame(1), 'its role comes first').toBeUndefined()
  expect(
    choicesOf(writer.write(1, [text])).map(({ index, delta }) => [index, delta.role ?? delta.content]),
  ).toEqual([
    [0, 'assistant'],
    [1, 'assistant'],
    [1, 'Hi'],
  ])
  const writeText = writer.textFrame(1) ?? expect.fail('its role was written')
  expect(writeText('Hi')).toBe(writer.write(1, [text]))
})
