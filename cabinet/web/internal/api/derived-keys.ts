import { hkdfSync } from 'node:crypto'
import type { KeyList } from '../../../process/key-list.ts'

/** Keys of one purpose, made of those of `CABINET_SEALING_KEY`, so that they change with them. */
export function derivedKeys(sealingKeys: KeyList<Uint8Array>, purpose: string): KeyList<Buffer> {
  const derive = (key: Uint8Array) => Buffer.from(hkdfSync('sha256', key, '', `model-gateway ${purpose}`, 32))
  const [first, ...others] = sealingKeys
  return [derive(first), ...others.map(derive)]
}
