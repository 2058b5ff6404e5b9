import type { KeyHash } from '#core/keys/key'
import type { KeyOwner } from '../../exchange/exchange.ts'
import type { KeepResponse } from '../../formats/keep-response.ts'
import type { ResponseStore } from '../../response-store/response-store.ts'
import { type JsonBytes, writeJson } from '../../wire/json-writer.ts'

/** A request whose response may be stored. */
export type Keepable = {
  readonly authorization: string
  /** Of the client. */
  readonly ip: string
  readonly secretHash: KeyHash
  /** Its own input, as items. */
  readonly input: readonly unknown[]
  readonly inputBytes: number
  readonly previousId: string | null
}

/** Stores responses to a request, for as long as its key keeps them. */
export function keeperOf(
  store: ResponseStore,
  { authorization, ip, secretHash, input, inputBytes, previousId }: Keepable,
  { keepsResponsesHours: hours, organizationId, keyId }: KeyOwner,
): KeepResponse {
  return async (response, requestId) => {
    const written = writeJson({ items: input }, inputBytes)
    const items = partsOf(written instanceof Promise ? await written : written)
    const caller = { authorization, ip, requestId, organizationId, keyId }
    const end = await store.keep({ hours, secretHash, previousId, input: items, ...response }, caller)
    return end === 'stored'
  }
}

function partsOf(bytes: JsonBytes): readonly Buffer[] {
  return Buffer.isBuffer(bytes) ? [bytes] : bytes
}
