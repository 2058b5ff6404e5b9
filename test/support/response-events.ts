import { expect } from 'vitest'
import { eventOf, framesOf } from './event-frames.ts'
import { publishedType } from './published-types.ts'

export type ResponseEvent = {
  readonly type: string
  readonly sequence_number: number
  readonly [field: string]: unknown
}

type Fields = { readonly [field: string]: unknown }

const except = {
  'Response.output_text': 'made by the SDK',
  'response.output_text': 'made by the SDK',
  '.usage.cost_rub': 'ours',
  '.frequency_penalty': 'of Open Responses',
  '.presence_penalty': 'of Open Responses',
  '.store': 'of Open Responses',
  'Event.name': 'of Open Responses: a call is named again when its arguments are whole',
  '.status': 'of custom tool calls',
} as const
const findProblem = publishedType('ResponseStreamEvent', except)
const findProblemOfResponse = publishedType('Response', except)

const finals = ['response.completed', 'response.incomplete', 'response.failed']

/** The events of a stream. Each is one frame of one line, and has the type that OpenAI publishes for it. */
export function readEvents(text: string): readonly ResponseEvent[] {
  const events = framesOf(text)
    .filter((frame) => frame !== 'data: [DONE]')
    .map((frame) => {
      const event = eventOf<ResponseEvent>(frame)
      expect(findProblem(withPublishedCode(event))).toBeUndefined()
      return event
    })
  expect(text.endsWith('data: [DONE]\n\n')).toBe(
    /^response\.(?:completed|incomplete)$/.test(events.at(-1)?.type ?? ''),
  )
  return events
}

/** Codes that Codex acts on, published or not (codex-rs, codex-api/src/sse/responses.rs); others it repeats. */
const codes = [
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_prompt',
  'rate_limit_exceeded',
  'server_error',
  'server_is_overloaded',
]

function withPublishedCode(event: ResponseEvent): ResponseEvent {
  const response = event.response as Fields | undefined
  if (response?.error == null) return event
  const error = response.error as Fields
  expect(codes).toContain(error.code)
  return { ...event, response: { ...response, error: { ...error, code: 'server_error' } } }
}

/** A whole response has the published type. */
export function expectResponse(response: unknown): void {
  expect(findProblemOfResponse(response)).toBeUndefined()
}

/**
 * The last event of a stream, which is as strict clients need it: numbered without gaps, one item after the other, every
 * text the sum of its pieces, and the response at the end the sum of the items. `broken`: it has no end.
 */
export function expectStream(events: readonly ResponseEvent[], end: 'whole' | 'broken' = 'whole'): Fields {
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()])
  expect(events[0]?.type).toBe('response.created')
  const last = events.filter(({ type }) => finals.includes(type))
  if (end === 'broken') expect(last).toEqual([])
  else expect(last).toEqual([events.at(-1)])
  const items = expectSerial(events)
  expectSums(events)
  const response = (last[0]?.response ?? {}) as Fields
  if (end === 'whole' && response.status !== 'failed') expect(response.output).toEqual(items)
  return response
}

/** Between two items nothing is open, and every event is about the open one. */
function expectSerial(events: readonly ResponseEvent[]): readonly unknown[] {
  const items: unknown[] = []
  let open: unknown
  for (const { type, output_index: index, item, item_id } of events) {
    if (type === 'response.output_item.added') {
      expect(open).toBeUndefined()
      expect(index).toBe(items.length)
      open = (item as Fields).id
    } else if (type === 'response.output_item.done') {
      expect((item as Fields).id).toBe(open)
      expect(index).toBe(items.length)
      items.push(item)
      open = undefined
    } else if (item_id !== undefined) {
      expect(item_id).toBe(open)
      expect(index).toBe(items.length)
    }
  }
  return items
}

const sums: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.refusal': 'refusal',
  'response.reasoning_summary_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
}

function expectSums(events: readonly ResponseEvent[]): void {
  const grown = new Map<string, string>()
  for (const event of events) {
    const { type, item_id, content_index = 0, delta } = event
    const kind = type.replace(/\.(?:delta|done)$/, '')
    const field = sums[kind]
    if (field === undefined) continue
    const place = [kind, item_id, content_index].join()
    if (type.endsWith('.delta')) grown.set(place, (grown.get(place) ?? '') + delta)
    else expect(event[field]).toBe(grown.get(place) ?? '')
  }
}
