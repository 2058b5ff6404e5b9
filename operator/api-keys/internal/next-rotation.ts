import { createHash } from 'node:crypto'
import type { KeyDraft } from '#core/keys/key-resource'
import { type GatheredKey, wasDelivered } from './gathered-key.ts'

/** A rotation comes earlier by up to this part of its interval, so that keys made together do not rotate together. */
const jitterMax = 0.1

/**
 * When `spec.rotation.interval` asks for the next API key, in whole seconds; `undefined`: it does not. Never later than
 * the interval after the last one, and always the same time for the same last one. Pure.
 */
export function nextRotationMs(
  { object, key, resource }: Pick<GatheredKey, 'object' | 'key' | 'resource'>,
  { rotationIntervalS }: Pick<KeyDraft, 'rotationIntervalS'>,
): number | undefined {
  if (rotationIntervalS === null || key === undefined || !wasDelivered(key)) return undefined
  // The time of the last rotation is unknown for a key that the database had lost.
  const lastMs = (resource?.rotatedAt ?? key.createdAt).getTime()
  const earlyS = rotationIntervalS * jitterMax * fractionOf(`${object.uid} ${lastMs}`)
  return 1000 * Math.floor(lastMs / 1000 + rotationIntervalS - earlyS)
}

/** A number from 0 to 1 that looks random, the same for the same text. */
function fractionOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
}

/** Shortest time between two rotations. Each leaves API keys behind that stay valid for their grace. */
const rotationPauseMs = 60_000

/** Before that, an API key that has just replaced another is not replaced once more. 0: it may be now. Pure. */
export function rotationAllowedMs({ key, resource }: Pick<GatheredKey, 'key' | 'resource'>): number {
  const deliveries = key?.secrets.filter(({ delivered }) => delivered).length ?? 0
  // The first API key of a key is no rotation.
  return deliveries < 2 ? 0 : (resource?.rotatedAt?.getTime() ?? 0) + rotationPauseMs
}
