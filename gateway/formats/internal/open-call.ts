import type { AskedTool } from '../../requests/responses-asked.ts'
import { findJson, type JsonObject } from '../../wire/json-fields.ts'
import { GrowingText } from './growing-text.ts'
import {
  announce,
  growthHead,
  growthTail,
  type ItemPlace,
  type ItemStatus,
  type OpenItem,
  placeOf,
} from './item-events.ts'
import { createToolInput, type ToolInput } from './tool-input.ts'

/** A call of a tool, as the kind of item that its client knows. */
export type OpenCall = OpenItem & {
  add(text: string): void
}

/** What the ids of each kind of call begin with. */
export const callPrefixes = { function: 'fc', custom: 'ctc', tool_search: 'tsc' } as const satisfies Record<
  AskedTool['kind'],
  string
>

export function openCall(place: ItemPlace, callId: string, tool: AskedTool): OpenCall {
  return tool.kind === 'tool_search'
    ? new SearchCall(place, callId)
    : new TextCall(place, namesOf(callId, tool), kinds[tool.kind])
}

/** The fields that name a call. */
function namesOf(callId: string, { name, namespace }: AskedTool): JsonObject {
  return { call_id: callId, name, ...(namespace === undefined ? {} : { namespace }) }
}

type TextKind = {
  readonly item: string
  /** Of the text. */
  readonly field: string
  readonly event: string
  /** Takes the text out of the arguments. */
  readonly createInput: () => ToolInput
  /** Whether the last event names the call again. */
  readonly repeatsName: boolean
}

const kinds: Readonly<Record<Exclude<AskedTool['kind'], 'tool_search'>, TextKind>> = {
  function: {
    item: 'function_call',
    field: 'arguments',
    event: 'response.function_call_arguments',
    createInput: () => asItComes,
    repeatsName: true,
  },
  custom: {
    item: 'custom_tool_call',
    field: 'input',
    event: 'response.custom_tool_call_input',
    createInput: createToolInput,
    repeatsName: false,
  },
}

const asItComes: ToolInput = { push: (piece) => piece, end: () => '' }

class TextCall implements OpenCall {
  readonly #place: ItemPlace
  readonly #names: JsonObject
  readonly #kind: TextKind
  readonly #input: ToolInput
  readonly #text = new GrowingText()
  readonly #growthHead: string

  constructor(place: ItemPlace, names: JsonObject, kind: TextKind) {
    this.#place = place
    this.#names = names
    this.#kind = kind
    this.#input = kind.createInput()
    this.#growthHead = growthHead(`${kind.event}.delta`, place)
    announce(place, this.item('in_progress'))
  }

  item(status: ItemStatus): JsonObject {
    const { item: type, field } = this.#kind
    return { id: this.#place.id, type, status, ...this.#names, [field]: this.#text.text() }
  }

  add(text: string): void {
    this.#show(this.#input.push(text))
  }

  close(): void {
    this.#show(this.#input.end())
    const { event, field, repeatsName } = this.#kind
    this.#place.events.event(`${event}.done`, {
      ...placeOf(this.#place),
      ...(repeatsName ? { name: this.#names.name } : {}),
      [field]: this.#text.text(),
    })
  }

  #show(text: string): void {
    if (text === '') return
    this.#text.add(text)
    this.#place.events.grow(this.#growthHead, growthTail(JSON.stringify(text)))
  }
}

/** A search for tools that the client runs: there are no events of its arguments. */
class SearchCall implements OpenCall {
  readonly #place: ItemPlace
  readonly #callId: string
  readonly #text = new GrowingText()

  constructor(place: ItemPlace, callId: string) {
    this.#place = place
    this.#callId = callId
    announce(place, this.item('in_progress'))
  }

  item(status: ItemStatus): JsonObject {
    const text = this.#text.text()
    return {
      id: this.#place.id,
      type: 'tool_search_call',
      status,
      call_id: this.#callId,
      execution: 'client',
      arguments: text === '' ? {} : (findJson(text) ?? text),
    }
  }

  add(text: string): void {
    this.#text.add(text)
  }

  close(): void {}
}
