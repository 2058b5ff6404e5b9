import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Writes a `.br` and a `.gz` next to each file of a folder, at maximum compression: the server compresses nothing. */
export function compressFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const content = readFileSync(path)
    const size = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params: size }))
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
  }
}
