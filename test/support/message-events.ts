import { expect } from 'vitest'
import { eventOf, framesOf } from './event-frames.ts'
import { publishedType } from './published-types.ts'

type Fields = { readonly [field: string]: unknown }
export type MessageEvent = { readonly type: string; readonly [field: string]: unknown }

const except = {
  '.usage.cost_rub': 'ours',
} as const
const findProblem = publishedType('RawMessageStreamEvent', except, 'anthropic')
const findProblemOfMessage = publishedType('Message', except, 'anthropic')

/** The events of a stream. Each is one frame of one line, and has the type that Anthropic publishes for it. */
export function readMessageEvents(text: string): readonly MessageEvent[] {
  return framesOf(text).map((frame) => {
    const event = eventOf<MessageEvent>(frame)
    if (event.type !== 'error' && event.type !== 'ping') expect(findProblem(event)).toBeUndefined()
    return event
  })
}

/** A whole message has the published type. */
export function expectMessage(message: unknown): void {
  expect(findProblemOfMessage(message)).toBeUndefined()
}

/** Which deltas each type of block may have. */
const deltas: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
}

/**
 * The message that a stream makes, which is as strict clients need it: one start, one block after the other, deltas of the
 * open block only, thinking closed by its signature, and one end. `broken`: it ends with an error or with nothing.
 */
export function expectMessageStream(
  events: readonly MessageEvent[],
  end: 'whole' | 'broken' = 'whole',
): Fields {
  const [start, ...others] = events.filter(({ type }) => type !== 'ping')
  expect(start?.type).toBe('message_start')
  const message = start?.message as Fields
  expect((message.usage as Fields).input_tokens).toBeGreaterThan(0)
  const last = others.splice(-2)
  if (end === 'whole') expect(last.map(({ type }) => type)).toEqual(['message_delta', 'message_stop'])
  else {
    others.push(...last.filter(({ type }) => type !== 'error'))
    expect(events.some(({ type }) => type === 'message_stop' || type === 'message_delta')).toBe(false)
    return message
  }
  const content = blocksOf(others)
  const whole = { ...message, ...(last[0]?.delta as Fields), content, usage: last[0]?.usage }
  return whole
}

function blocksOf(events: readonly MessageEvent[]): readonly Fields[] {
  const blocks: Fields[] = []
  let open: { block: Fields; json: string; isSigned: boolean } | undefined
  for (const { type, index, content_block, delta } of events) {
    expect(index).toBe(blocks.length)
    if (type === 'content_block_start') {
      expect(open).toBeUndefined()
      open = { block: content_block as Fields, json: '', isSigned: false }
    } else if (type === 'content_block_delta') {
      const { type: kind, text, thinking, signature, partial_json: json } = delta as Fields
      const block = open?.block ?? expect.fail('a delta outside of a block')
      expect(deltas[String(block.type)]).toContain(kind)
      expect(open?.isSigned).toBe(false)
      open = {
        json: `${open?.json}${json ?? ''}`,
        isSigned: signature !== undefined,
        block: {
          ...block,
          ...(text === undefined ? {} : { text: `${block.text}${text}` }),
          ...(thinking === undefined ? {} : { thinking: `${block.thinking}${thinking}` }),
          ...(signature === undefined ? {} : { signature }),
        },
      }
    } else {
      expect(type).toBe('content_block_stop')
      const { block, json, isSigned } = open ?? expect.fail('the end of no block')
      expect(isSigned).toBe(block.type === 'thinking')
      blocks.push(json === '' ? block : { ...block, input: parsed(json) })
      open = undefined
    }
  }
  expect(open).toBeUndefined()
  return blocks
}

/** Models may write what is no JSON. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
