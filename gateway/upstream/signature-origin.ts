import { createHash } from 'node:crypto'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'

/**
 * Which signed content of a conversation a provider gets back: that which it signed itself. Another provider, or another
 * account, would reject the request or ignore it.
 */
export type SignatureOrigin = {
  /** Of the provider that is called. */
  readonly own: string
  /** What clients return without the mark, as from elsewhere: kept for the first provider of a request only. */
  readonly unmarked: 'kept' | 'removed'
}

/** The mark of a provider: short, and it reveals no name. */
export function originOf(provider: string): string {
  return createHash('sha256').update(provider).digest('base64url').slice(0, 8)
}

/** Whether a provider takes back what has this mark, which the caller may have lost. */
export function isAccepted({ own, unmarked }: SignatureOrigin, mark: unknown): boolean {
  return mark === undefined ? unmarked === 'kept' : mark === own
}

/** A signature's `extra_content` with the mark of its provider. */
export function markedContent(content: JsonObject, own: string): JsonObject {
  return { ...content, gateway: { origin: own } }
}

/** The mark in `extra_content`. */
export function markOf(extraContent: unknown): unknown {
  return fieldsOf(fieldsOf(extraContent)?.gateway)?.origin
}
