import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { KeyHash } from '../keys/key.ts'

/** Longest response and input together, in bytes, before they are encrypted. */
export const storedBytesMax = 4 * 1024 * 1024
/** Most stored responses that one conversation may have. */
export const conversationLengthMax = 200
/** Most bytes of stored responses that one request may refer to. */
export const referredBytesMax = 16 * 1024 * 1024
/** Most items that one request may refer to. */
export const referredItemsMax = 1_000
/** Longest id of an item. */
export const itemIdLengthMax = 200

/** What gateways and the cabinet say of a response that is to be stored. */
export type StoredHead = {
  /** Of its request, a UUIDv7. */
  readonly id: string
  readonly hours: number
  /** The stored response that it continues. */
  readonly previousId: string | null
  /** The ids of its output items. */
  readonly itemIds: readonly string[]
  /** Of the bytes that follow, those of its input; the rest are of the response. */
  readonly inputBytes: number
}

/** What the cabinet answers of each stored response: its bytes follow in this order, input first. */
export type FoundHead = {
  readonly id: string
  /** 0 where only the response was asked for. */
  readonly inputBytes: number
  readonly responseBytes: number
}

const lengthBytes = 4

/** A head as JSON, with the bytes that it describes. */
export function writeFrame(head: string, parts: readonly Uint8Array[]): Buffer {
  const json = Buffer.from(head)
  const length = Buffer.allocUnsafe(lengthBytes)
  length.writeUInt32BE(json.length)
  return Buffer.concat([length, json, ...parts])
}

/** What `writeFrame` wrote; `undefined`: it is no frame. */
export function readFrame(frame: Buffer): { readonly head: string; readonly bytes: Buffer } | undefined {
  if (frame.length < lengthBytes) return undefined
  const end = lengthBytes + frame.readUInt32BE()
  if (frame.length < end) return undefined
  return { head: frame.toString('utf8', lengthBytes, end), bytes: frame.subarray(end) }
}

/**
 * Proves that a gateway writes: callers can reach the cabinet, too, and must not store what they never paid for.
 *
 * Every process has the pepper, and no caller.
 */
export type WriteProof = {
  write(secretHash: KeyHash, head: string): string
  isRight(proof: unknown, secretHash: KeyHash, head: string): boolean
}

/** The header that has it. */
export const proofHeader = 'x-gateway-proof'

export function createWriteProof(keyPepper: string): WriteProof {
  const derived = hkdfSync('sha256', keyPepper, '', 'model-gateway: proof of a stored response', 32)
  const key = createSecretKey(Buffer.from(derived))
  const write = (secretHash: KeyHash, head: string) =>
    createHmac('sha256', key).update(`${secretHash}\n${head}`).digest('base64url')
  return {
    write,
    isRight(proof, secretHash, head) {
      const [given, right] = [Buffer.from(String(proof)), Buffer.from(write(secretHash, head))]
      return given.length === right.length && timingSafeEqual(given, right)
    },
  }
}
