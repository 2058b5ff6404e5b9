import type { AskedTool } from '../../requests/responses-asked.ts'
import { findJson, type JsonObject } from '../../wire/json-fields.ts'
import { GrowingText } from './growing-text.ts'
import {
  announce,
  deltaHead,
  type ItemPlace,
  type ItemStatus,
  type OpenItem,
  placeOf,
} from './item-events.ts'
import { JsonEnd } from './json-end.ts'
import { createToolInput } from './tool-input.ts'

/** A call of a tool, as the kind of item that its client knows. */
export type OpenCall = OpenItem & {
  add(text: string): void
  /** Whether its arguments are whole, so that nothing more is expected. */
  isWhole(): boolean
}

/** What the ids of each kind of call begin with. */
export const callPrefixes = { function: 'fc', custom: 'ctc', tool_search: 'tsc' } as const satisfies Record<
  AskedTool['kind'],
  string
>

export function openCall(place: ItemPlace, callId: string, tool: AskedTool): OpenCall {
  switch (tool.kind) {
    case 'function':
      return new FunctionCall(place, callId, tool)
    case 'custom':
      return new CustomCall(place, callId, tool)
    case 'tool_search':
      return new SearchCall(place, callId)
  }
}

/** The fields that name a call. */
function namesOf(callId: string, { name, namespace }: AskedTool): JsonObject {
  return { call_id: callId, name, ...(namespace === undefined ? {} : { namespace }) }
}

class FunctionCall implements OpenCall {
  readonly #place: ItemPlace
  readonly #names: JsonObject
  readonly #name: string
  readonly #text = new GrowingText()
  readonly #end = new JsonEnd()
  readonly #deltaHead: string

  constructor(place: ItemPlace, callId: string, tool: AskedTool) {
    this.#place = place
    this.#names = namesOf(callId, tool)
    this.#name = tool.name
    this.#deltaHead = deltaHead(place)
    announce(place, this.item('in_progress'))
  }

  item(status: ItemStatus): JsonObject {
    return { id: this.#place.id, type: 'function_call', status, ...this.#names, arguments: this.#text.text() }
  }

  add(text: string): void {
    this.#text.add(text)
    this.#end.add(text)
    this.#place.events.written(
      'response.function_call_arguments.delta',
      `${this.#deltaHead}${JSON.stringify(text)}`,
    )
  }

  isWhole(): boolean {
    return this.#end.isReached()
  }

  close(): void {
    this.#place.events.event('response.function_call_arguments.done', {
      ...placeOf(this.#place),
      name: this.#name,
      arguments: this.#text.text(),
    })
  }
}

class CustomCall implements OpenCall {
  readonly #place: ItemPlace
  readonly #names: JsonObject
  readonly #text = new GrowingText()
  readonly #end = new JsonEnd()
  readonly #input = createToolInput()
  readonly #deltaHead: string

  constructor(place: ItemPlace, callId: string, tool: AskedTool) {
    this.#place = place
    this.#names = namesOf(callId, tool)
    this.#deltaHead = deltaHead(place)
    announce(place, this.item('in_progress'))
  }

  item(status: ItemStatus): JsonObject {
    return { id: this.#place.id, type: 'custom_tool_call', status, ...this.#names, input: this.#text.text() }
  }

  add(text: string): void {
    this.#end.add(text)
    this.#show(this.#input.push(text))
  }

  isWhole(): boolean {
    return this.#end.isReached()
  }

  close(): void {
    this.#show(this.#input.end())
    const input = this.#text.text()
    this.#place.events.event('response.custom_tool_call_input.done', { ...placeOf(this.#place), input })
  }

  #show(text: string): void {
    if (text === '') return
    this.#text.add(text)
    const delta = `${this.#deltaHead}${JSON.stringify(text)}`
    this.#place.events.written('response.custom_tool_call_input.delta', delta)
  }
}

/** A search for tools that the client runs: there are no events of its arguments. */
class SearchCall implements OpenCall {
  readonly #place: ItemPlace
  readonly #callId: string
  readonly #text = new GrowingText()
  readonly #end = new JsonEnd()

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
    this.#end.add(text)
  }

  isWhole(): boolean {
    return this.#end.isReached()
  }

  close(): void {}
}
