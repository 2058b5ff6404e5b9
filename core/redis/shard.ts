import { crc32 } from 'node:zlib'

/** Number of shards. It can never change: a shard's number is part of every API key's secret. */
export const shardCount = 64

/** 0…63. One organization lives in one shard, so every script stays within one hash slot. */
export type Shard = number & { readonly __brand: 'Shard' }

/** Every shard, in order. */
export const allShards: readonly Shard[] = Array.from({ length: shardCount }, (_, n) => n as Shard)

/** The shard of an organization: a fixed function of its id, so it needs no look-up. */
export function shardOf(organizationId: string): Shard {
  return (crc32(organizationId) % shardCount) as Shard
}

/**
 * The start of every name in a shard, hash tag included: `mg:{s07}:`.
 *
 * The scripts build their other names from KEYS[1] (`…epoch`), under the same tag; `shard.lua` has the list.
 */
export function shardPrefix(shard: Shard): string {
  return `mg:{${shardTag(shard)}}:`
}

/** The hash tag of a shard: `s07`. */
export function shardTag(shard: Shard): string {
  return `s${String(shard).padStart(2, '0')}`
}

/** KEYS[1] of every script. */
export function epochName(shard: Shard): string {
  return `${shardPrefix(shard)}epoch`
}

/** The worker's notes on a shard. */
export function shardName(shard: Shard): string {
  return `${shardPrefix(shard)}shard`
}

/** The stream of charges that wait for Postgres. */
export function chargesName(shard: Shard): string {
  return `${shardPrefix(shard)}charges`
}

/** Sorted set of the requests that hold money, by the end of their lease. */
export function dueName(shard: Shard): string {
  return `${shardPrefix(shard)}due`
}

/** The list of an organization's last rejections, newest first. */
export function refusedName(organizationId: string): string {
  return `${shardPrefix(shardOf(organizationId))}refused:${organizationId}`
}

/** Sorted set of the shard's organizations by the time of their last rejection, Unix milliseconds. */
export function recentlyRefusedName(shard: Shard): string {
  return `${shardPrefix(shard)}refused:recent`
}

/** Balance of an organization, and what is pending and held of it. */
export function organizationSumsName(organizationId: string): string {
  return `${shardPrefix(shardOf(organizationId))}org:${organizationId}`
}
