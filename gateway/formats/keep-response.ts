import type { JsonObject } from '../wire/json-fields.ts'

/** A whole response as its client gets it: its JSON, and the items of its output. */
export type WholeResponse = { readonly json: string; readonly items: readonly JsonObject[] }

/** Stores a whole response; `false`: it is not stored. Takes a second at most and never fails. */
export type KeepResponse = (response: WholeResponse, requestId: string) => Promise<boolean>
