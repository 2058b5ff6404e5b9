/** The lowest bit rate that MPEG audio has (MPEG-2 layer III: 8 kbit/s), in bytes a second: no such file is longer. */
const mp3BytesPerSecondMin = 1_000
/** Where a WAV file's first chunk begins. */
const firstChunkAt = 12
const pcm = 1

/** The longest possible duration of a sound, in seconds; `null` if its format does not reveal it. */
export function secondsOf(format: string, bytes: Buffer): number | null {
  if (format === 'mp3') return bytes.length / mp3BytesPerSecondMin
  return format === 'wav' ? secondsOfWav(bytes) : null
}

/** Uncompressed WAV only: for all other formats the header has nothing that could be verified. */
function secondsOfWav(bytes: Buffer): number | null {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') return null
  for (let at = firstChunkAt; at + 24 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 4)
    if (bytes.toString('latin1', at, at + 4) === 'fmt ') {
      const [channels, rate, bits] = [
        bytes.readUInt16LE(at + 10),
        bytes.readUInt32LE(at + 12),
        bytes.readUInt16LE(at + 22),
      ]
      const isUsual = channels <= 8 && rate <= 192_000 && bits <= 32
      const bytesPerSecond = (channels * rate * bits) / 8
      return isUsual && bytes.readUInt16LE(at + 8) === pcm && bytesPerSecond > 0
        ? bytes.length / bytesPerSecond
        : null
    }
    at += 8 + length + (length % 2)
  }
  return null
}
