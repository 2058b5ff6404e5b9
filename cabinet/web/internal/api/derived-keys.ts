import { hkdfSync } from 'node:crypto'
import type { KeyList } from '#core/process/key-list'

/** Keys for one purpose, derived from those of `CABINET_SEALING_KEY`. They change with them. */
export function derivedKeys(sealingKeys: KeyList<Uint8Array>, purpose: string): KeyList<Buffer> {
  const derive = (key: Uint8Array) => Buffer.from(hkdfSync('sha256', key, '', `model-gateway ${purpose}`, 32))
  const [first, ...others] = sealingKeys
  return [derive(first), ...others.map(derive)]
}
