import { fieldsOf, findJson, type JsonObject } from '../../wire/json-fields.ts'

/** Takes the events of a response in their order. */
export type ItemEvents = {
  event(type: string, fields: JsonObject): void
  /** An event with the next piece of a text, whose frame is nearly written: `head` up to its number, `tail` from there on. */
  grow(head: string, tail: string): void
}

/** The events of a response that is not streamed. */
export const noEvents: ItemEvents = { event() {}, grow() {} }

/** The events in whole frames: each ends with a blank line, and JSON has none. */
export function eventsIn(frames: string): readonly JsonObject[] {
  return frames
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => fieldsOf(findJson(frame.slice(frame.indexOf('\ndata: ') + '\ndata: '.length))) ?? {})
}

/** Where an item is in its response. */
export type ItemPlace = { readonly id: string; readonly index: number; readonly events: ItemEvents }

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** An item of a response while it grows. */
export type OpenItem = {
  /** The item as it is now. */
  item(status: ItemStatus): JsonObject
  /** Writes the events that end its parts. */
  close(): void
}

/** The event that opens an item. */
export function announce({ index, events }: ItemPlace, item: JsonObject): void {
  events.event('response.output_item.added', { output_index: index, item })
}

/** The fields of every event about an item. */
export function placeOf({ id, index }: ItemPlace): JsonObject {
  return { item_id: id, output_index: index }
}

/** The frame of an event about an item up to its number. */
export function growthHead(type: string, place: ItemPlace, fields: JsonObject = {}): string {
  const known = JSON.stringify({ type, ...placeOf(place), ...fields }).slice(0, -1)
  return `event: ${type}\ndata: ${known},"sequence_number":`
}

/** The end of that frame, with a piece of a text as JSON. */
export function growthTail(json: string): string {
  return `,"delta":${json}}\n\n`
}
