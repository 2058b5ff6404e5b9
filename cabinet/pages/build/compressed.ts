import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Puts a `.br` and a `.gz` beside each file of a folder, as small as they get: the server compresses nothing. */
export function compressFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const content = readFileSync(path)
    const size = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params: size }))
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
  }
}
