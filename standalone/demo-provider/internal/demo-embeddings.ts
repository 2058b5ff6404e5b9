import { createHash } from 'node:crypto'

/** An embeddings request accepted by `findEmbeddingFault`. */
export type DemoEmbeddingRequest = {
  readonly model: string
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[]
  readonly encoding_format?: 'float' | 'base64' | null
  readonly dimensions?: number | null
}

/** Default dimensions of an embedding. */
const dimensionsDefault = 8
/** The bytes of a SHA-256. Each yields one dimension. */
const dimensionsMax = 32

/**
 * The response of the model `embed`: each word is a fixed direction, and the text's words are summed to a vector of
 * length 1.
 *
 * The same text always gets the same vector, and texts that share words point in similar directions. `undefined`: the
 * request asks for too many dimensions.
 */
export function answerEmbeddings(request: DemoEmbeddingRequest): object | undefined {
  const dimensions = request.dimensions ?? dimensionsDefault
  if (dimensions > dimensionsMax) return undefined
  const inputs = wordsOfEach(request.input)
  const data = inputs.map((words, index) => {
    const vector = vectorOf(words, dimensions)
    const embedding =
      request.encoding_format === 'base64'
        ? Buffer.from(Float32Array.from(vector).buffer).toString('base64')
        : vector
    return { object: 'embedding', index, embedding }
  })
  const tokens = inputs.reduce((sum, words) => sum + words.length, 0)
  return {
    object: 'list',
    data,
    model: request.model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

function wordsOfEach(input: DemoEmbeddingRequest['input']): readonly (readonly string[])[] {
  if (typeof input === 'string') return [wordsOf(input)]
  if (input.every((item) => typeof item === 'number')) return [input.map(String)]
  return input.map((item) => (typeof item === 'string' ? wordsOf(item) : [item].flat().map(String)))
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/\S+/g) ?? []
}

function vectorOf(words: readonly string[], dimensions: number): readonly number[] {
  const sum = new Array<number>(dimensions).fill(0)
  for (const word of words) {
    const direction = createHash('sha256').update(word).digest()
    for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] ?? 0) + (direction[at] ?? 0) / 127.5 - 1
  }
  const length = Math.hypot(...sum) || 1
  return sum.map((value) => value / length)
}
