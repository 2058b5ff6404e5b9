import { hkdfSync } from 'node:crypto'
import type { KeyList } from './key-list.ts'

/** Keys of 32 bytes for one purpose, derived from others. They change with them. @param purpose unlike any other's. */
export function derivedKeys(sealingKeys: KeyList<Uint8Array>, purpose: string): KeyList<Buffer> {
  const derive = (key: Uint8Array) => Buffer.from(hkdfSync('sha256', key, '', purpose, 32))
  const [first, ...others] = sealingKeys
  return [derive(first), ...others.map(derive)]
}
