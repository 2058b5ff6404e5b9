import { parentPort } from 'node:worker_threads'
import { decode } from 'gpt-tokenizer/encoding/cl100k_base'

/** The texts of lists of tokens, or where the first list is that holds what is no token. */
export type Decoded = { readonly texts: readonly string[] } | { readonly wrongAt: number }

function decodeAll(lists: readonly (readonly number[])[]): Decoded {
  const texts: string[] = []
  for (const [at, tokens] of lists.entries()) {
    try {
      texts.push(decode(tokens))
    } catch {
      return { wrongAt: at } // the tokenizer throws at unknown tokens
    }
  }
  return { texts }
}

/**
 * Turns tokens (cl100k_base) into text on a separate thread: lists of tokens with a number in, the same
 * number out.
 */
parentPort?.on('message', ({ id, lists }: { id: number; lists: readonly (readonly number[])[] }) => {
  parentPort?.postMessage({ id, decoded: decodeAll(lists) })
})
