import { gzipSync } from 'node:zlib'
import type { Plugin, Rolldown } from 'vite'

/** Gzipped, in bytes: small enough to open quickly on a phone with a bad network. */
const initialScriptBytesMax = 110_000
const styleBytesMax = 15_000
const lazyChunkBytesMax = 60_000

type Bundle = Rolldown.OutputBundle
type Chunk = Rolldown.OutputChunk

/** Fails a build whose scripts or styles exceed these sizes. */
export function refuseWeight(): Plugin {
  return {
    name: 'refuse-weight',
    generateBundle(_options, bundle) {
      for (const complaint of findTooHeavy(bundle)) this.error(complaint)
    },
  }
}

function findTooHeavy(bundle: Bundle): readonly string[] {
  const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
  const initial = initialChunksOf(chunks)
  const initialBytes = [...initial].reduce((sum, chunk) => sum + weightOf(chunk.code), 0)
  const lazy = chunks.filter((chunk) => !initial.has(chunk))
  const styles = Object.values(bundle).filter((file) => file.fileName.endsWith('.css'))
  const styleBytes = styles.reduce((sum, file) => sum + weightOf('source' in file ? file.source : ''), 0)
  return [
    ...complaintsOf('the initial scripts', initialBytes, initialScriptBytesMax),
    ...complaintsOf('the styles', styleBytes, styleBytesMax),
    ...lazy.flatMap(({ fileName, code }) => complaintsOf(fileName, weightOf(code), lazyChunkBytesMax)),
  ]
}

/** What the first page loads before it can show anything: the entry and its static imports. */
function initialChunksOf(chunks: readonly Chunk[]): ReadonlySet<Chunk> {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const initial = new Set<Chunk>()
  const add = (chunk: Chunk | undefined) => {
    if (chunk === undefined || initial.has(chunk)) return
    initial.add(chunk)
    for (const name of chunk.imports) add(byName.get(name))
  }
  for (const chunk of chunks) if (chunk.isEntry) add(chunk)
  return initial
}

function weightOf(text: string | Uint8Array): number {
  return gzipSync(text).length
}

function complaintsOf(what: string, bytes: number, bytesMax: number): readonly string[] {
  return bytes <= bytesMax ? [] : [`${what}: ${bytes} bytes gzipped, ${bytesMax} at most`]
}
