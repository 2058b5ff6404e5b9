import { parentPort } from 'node:worker_threads'
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base'
import { splitRuns } from './split-runs.ts'

/** Merged words that the tokenizer remembers: at up to 256 characters each, a few MB instead of its default's hundreds. */
const mergeCacheSize = 10_000
/** A text that names a special token (`<|endoftext|>`) is text like any other, not an error. */
const asPlainText = { disallowedSpecial: new Set<string>() }

function countText(text: string): number {
  return splitRuns(text).reduce((sum, piece) => sum + countTokens(piece, asPlainText), 0)
}

/**
 * Counts tokens (o200k_base) on a separate thread: a list of texts, each in parts, in; a list of counts out.
 */
setMergeCacheSize(mergeCacheSize)
parentPort?.on('message', (texts: readonly (readonly string[])[]) => {
  parentPort?.postMessage(texts.map((parts) => parts.reduce((sum, part) => sum + countText(part), 0)))
})
