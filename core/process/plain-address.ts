/** An address as it is written down and compared: an IPv4 one in plain form, without a zone. Pure. */
export function plainAddress(address: string): string {
  const [bare = ''] = address.split('%')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)
  return mapped?.[1] ?? bare
}
