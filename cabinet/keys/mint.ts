import { randomBytes } from 'node:crypto'
import type { Shard } from '../shards/shard.ts'
import { type KeyText, writeKey } from './key.ts'

/** A new API key for an organization of `shard`: 256 random bits from the system. */
export function mintKey(shard: Shard): KeyText {
  return writeKey(shard, randomBytes(32))
}
