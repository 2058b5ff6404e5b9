import type { JsonObject } from '../../wire/json-fields.ts'

/** Takes the events of a response in their order. */
export type ItemEvents = {
  event(type: string, fields: JsonObject): void
  /** The same for fields that are JSON text already, without braces. */
  written(type: string, fields: string): void
}

/** The events of a response that is not streamed. */
export const noEvents: ItemEvents = { event() {}, written() {} }

/** How many frames a text has: each ends with a blank line, and JSON has none. */
export function framesIn(text: string): number {
  return text.split('\n\n').length - 1
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

/** The beginning of an event with a growing text, as JSON text: everything up to the text. */
export function deltaHead(place: ItemPlace, fields: JsonObject = {}): string {
  return `${JSON.stringify({ ...placeOf(place), ...fields }).slice(1, -1)},"delta":`
}
