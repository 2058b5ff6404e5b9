/** Hash slots of a cluster. */
const slotCount = 16_384

/** The slot of a name with this hash tag: CRC16 (XMODEM) of the tag, as the cluster specification defines it. */
export function hashSlotOf(tag: string): number {
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff) >>> 0
  }
  return crc % slotCount
}
