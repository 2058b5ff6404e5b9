import { describe, expect, test } from 'vitest'
import { type Mode, modes } from './adapter-cases.ts'
import { type Api, apis } from './fault-cases.ts'
import { costRub, findSplit, playStream, playWhole } from './stream-play.ts'
import type { Said, TurnCase } from './turn-cases.ts'
import { type AskedChat, type SentRequest, sendRequest, spokenBytes } from './turn-play.ts'

type Fields = { readonly [field: string]: unknown }

/** A client of one of the gateway's APIs. */
type TurnClient = {
  /** Parses a request; without a conversation it is the message `Hi`. */
  readonly ask: (request: Fields, mode: Mode) => AskedChat
  /** Checks a whole response. */
  readonly readWhole: (response: Fields) => Fields
  /** Checks a stream, and returns its response. */
  readonly readStream: (text: string) => Fields
  /** The items or blocks of a response. */
  readonly outputOf: (response: Fields) => readonly Fields[]
  /** The field of an item or block that is the id of a call. */
  readonly callId: string
  /** The request that goes on. */
  readonly next: (request: Fields, output: readonly Fields[], then: readonly Fields[]) => Fields
}

/** Tests that every kind has a case at every backend, and that the client can go on after each of its responses. */
export function testTurns(kinds: readonly string[], given: readonly TurnCase[], client: TurnClient): void {
  const cells = kinds.flatMap((kind) => apis.map((api) => ({ kind, api, ...casesOf(given, kind, api) })))

  test.each(cells)('$kind at a backend of $api has a case, or a reason for none', ({ cases, reasons }) => {
    expect(cases.length + reasons.length).toBe(1)
  })

  test('there are cases of no other kinds', () => {
    expect(given.map(({ kind }) => kind).filter((kind) => !kinds.includes(kind))).toEqual([])
  })

  const played = cells.flatMap(({ kind, api, cases }) =>
    cases.flatMap((one) =>
      modes.map((mode) => ({ title: `${kind} (${api}, ${mode})`, api, mode, given: one })),
    ),
  )

  test.each(played)(
    '$title: its client reads it, and the provider takes it back',
    ({ api, mode, given: one }) => playTurn(client, api, mode, one),
  )

  describe('by stream and at once a client gets the same', () => {
    test.each(played.filter(({ mode }) => mode === 'plain'))(
      '$title',
      ({ api, given: { request, said } }) => {
        const [whole, streamed] = modes.map(
          (mode) =>
            respond(client, api, mode, sendRequest(api, mode, client.ask(request, mode)), said[api]).output,
        )
        expect(streamed).toEqual(whole)
      },
    )
  })
}

function casesOf(given: readonly TurnCase[], kind: string, api: Api) {
  const ofKind = given.filter((one) => one.kind === kind)
  return {
    cases: ofKind.filter(({ said, none }) => said[api] !== undefined && none?.[api] === undefined),
    reasons: ofKind.flatMap(({ none }) => none?.[api] ?? []),
  }
}

/** The model's turn, and the request after it. */
function playTurn(client: TurnClient, api: Api, mode: Mode, given: TurnCase): void {
  const { request, said, items, then, dropped = [], response: fields = {} } = given
  const first = sendRequest(api, mode, client.ask(request, mode))
  expect(first.dropped).toEqual(dropped)
  const { output, response } = respond(client, api, mode, first, said[api])
  expect(output).toMatchObject(said[api]?.items ?? items)
  expect(response).toMatchObject(fields)
  const callId = output.map((item) => item[client.callId]).findLast((id) => id !== undefined)
  const goingOn = JSON.parse(JSON.stringify(then).replaceAll('"$call"', JSON.stringify(callId ?? null)))
  const again = sendRequest(api, mode, client.ask(client.next(request, output, goingOn), mode))
  const sent = given.sent[api] ?? expect.fail('it is sent')
  const body = withoutIds(again.body)
  // Of tools only the names matter here.
  for (const [field, value] of Object.entries(sent))
    if (field === 'tools') expect(body).toMatchObject({ tools: value })
    else expect(body[field]).toEqual(value)
}

/** The response to a request, which is as its API publishes it, wherever the provider's bytes are split. */
function respond(
  client: TurnClient,
  api: Api,
  mode: Mode,
  { reading, origin, createFormat }: SentRequest,
  said: Said | undefined,
) {
  const bytes = spokenBytes(api, mode, said ?? expect.fail('it has a case'))
  const response = mode === 'plain' ? client.readWhole(whole()) : streamed()
  expect(response.usage).toMatchObject({ cost_rub: costRub })
  return { response, output: client.outputOf(response) }

  function whole(): Fields {
    return playWhole(reading, JSON.parse(bytes.toString()), createFormat(), { origin }).shown as Fields
  }

  function streamed(): Fields {
    const textOf = (pieces: readonly Buffer[]) =>
      playStream({ reader: reading.createEventReader(), format: createFormat(), origin }, pieces).text
    expect(findSplit(bytes, textOf)).toBeUndefined()
    return client.readStream(textOf([bytes]))
  }
}

/** Ids of calls that the gateway made are different each time. */
function withoutIds(body: Fields): Fields {
  return JSON.parse(JSON.stringify(body).replaceAll(/(?:call|toolu)_[\w-]*ours[\w-]*/g, '$call'))
}
