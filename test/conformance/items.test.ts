import { describe, expect, test } from 'vitest'
import { expectResponse, expectStream, readEvents } from '../support/response-events.ts'
import { type Mode, modes } from './adapter-cases.ts'
import { type Api, apis } from './fault-cases.ts'
import { type ItemCase, itemCases, itemKinds, type Said } from './item-cases.ts'
import { type SentRequest, sendRequest, spokenBytes } from './item-play.ts'
import { costRub, findSplit, playStream, playWhole } from './stream-play.ts'

type Fields = { readonly [field: string]: unknown }

const hi = { role: 'user', content: 'Hi' }
const cells = itemKinds.flatMap((kind) => apis.map((api) => ({ kind, api, cases: casesOf(kind, api) })))

function casesOf(kind: ItemCase['kind'], api: Api): readonly ItemCase[] {
  return itemCases.filter((given) => given.kind === kind && given.said[api] !== undefined)
}

test.each(cells)('$kind at a backend of $api has a case, or a reason for none', ({ kind, api, cases }) => {
  const reasons = itemCases.filter((given) => given.kind === kind).flatMap(({ none }) => none?.[api] ?? [])
  expect(cases.length + reasons.length).toBe(1)
})

test('there are cases of no other kinds', () => {
  expect(itemCases.map(({ kind }) => kind).filter((kind) => !itemKinds.includes(kind))).toEqual([])
})

const played = cells.flatMap(({ kind, api, cases }) =>
  cases.flatMap((given) => modes.map((mode) => ({ title: `${kind} (${api}, ${mode})`, api, mode, given }))),
)

test.each(played)('$title: its client reads it, and the provider takes it back', ({ api, mode, given }) => {
  const said = given.said[api] ?? expect.fail('it has a case')
  const { input = [hi], ...asked } = given.request
  const first = sendRequest(api, mode, { ...asked, input })
  expect(first.dropped).toEqual(given.dropped ?? [])
  const { output } = respond(api, mode, first, said)
  expect(output).toMatchObject(said.items ?? given.items)
  const callId = output.findLast(({ call_id }) => call_id !== undefined)?.call_id
  const then = given.then.map((item) => (item.call_id === '$call' ? { ...item, call_id: callId } : item))
  const again = sendRequest(api, mode, { ...asked, input: [...(input as object[]), ...output, ...then] })
  const sent = given.sent[api] ?? expect.fail('it is sent')
  const body = withoutIds(again.body)
  // Of tools only the names matter here.
  for (const [field, value] of Object.entries(sent))
    if (field === 'tools') expect(body).toMatchObject({ tools: value })
    else expect(body[field]).toEqual(value)
})

describe('by stream and at once a client gets the same items', () => {
  test.each(played.filter(({ mode }) => mode === 'plain'))('$title', ({ api, given }) => {
    const said = given.said[api] ?? expect.fail('it has a case')
    const [whole, streamed] = modes.map(
      (mode) => respond(api, mode, sendRequest(api, mode, { input: [hi], ...given.request }), said).output,
    )
    expect(streamed).toEqual(whole)
  })
})

/** The response to a request, which is as its API publishes it, wherever the provider's bytes are split. */
function respond(api: Api, mode: Mode, { reading, origin, createFormat }: SentRequest, said: Said) {
  const bytes = spokenBytes(api, mode, said)
  const response = mode === 'plain' ? whole() : streamed()
  expectResponse(response)
  expect(response.usage).toMatchObject({ cost_rub: costRub })
  return { output: response.output as Fields[] }

  function whole(): Fields {
    return playWhole(reading, JSON.parse(bytes.toString()), createFormat(), { origin }).shown as Fields
  }

  function streamed(): Fields {
    const textOf = (pieces: readonly Buffer[]) =>
      playStream({ reader: reading.createEventReader(), format: createFormat(), origin }, pieces).text
    expect(findSplit(bytes, textOf)).toBeUndefined()
    return expectStream(readEvents(textOf([bytes])))
  }
}

/** Ids of calls that the gateway made are different each time. */
function withoutIds(body: Fields): Fields {
  return JSON.parse(JSON.stringify(body).replaceAll(/call_[\w-]*ours[\w-]*/g, '$call'))
}
