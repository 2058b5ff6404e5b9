import { parentPort } from 'node:worker_threads'
import type { MeasurablePrompt, MediaPart } from '../measurable-prompt.ts'
import type { ModelFamily } from '../model-families.ts'
import { tokensOfImage } from './image-tokens.ts'
import { pagesOf } from './pdf-pages.ts'
import { secondsOf } from './sound-seconds.ts'
import { splitRuns } from './split-runs.ts'

/** Tokens by each family, in the order asked; `null`: that family publishes nothing that bounds them. */
export type Measured = readonly (number | null)[]

/** Names, marks and separators around one text or medium, in tokens, whatever the template. */
const frameTokens = 16
/** A text that names a special token (`<|endoftext|>`) is text like any other, not an error. */
const asPlainText = { disallowedSpecial: new Set<string>() }
/** Merged words that a tokenizer remembers: a few MB instead of its default's hundreds. */
const mergeCacheSize = 10_000

type Encoding = NonNullable<ModelFamily['encoding']>
type CountText = (text: string) => number

/** Loaded when first needed: each takes 70 MB and some tenths of a second. */
const counters = new Map<Encoding, Promise<CountText>>()

function counterOf(encoding: Encoding): Promise<CountText> {
  const known = counters.get(encoding)
  if (known !== undefined) return known
  const loading = load(encoding)
  counters.set(encoding, loading)
  return loading
}

async function load(encoding: Encoding): Promise<CountText> {
  const { countTokens, setMergeCacheSize } =
    encoding === 'o200k_base'
      ? await import('gpt-tokenizer/encoding/o200k_base')
      : await import('gpt-tokenizer/encoding/cl100k_base')
  setMergeCacheSize(mergeCacheSize)
  return (text) => splitRuns(text).reduce((sum, piece) => sum + countTokens(piece, asPlainText), 0)
}

async function measure(prompt: MeasurablePrompt, family: ModelFamily): Promise<number | null> {
  let tokens = prompt.otherBytes + frameTokens * (prompt.texts.length + prompt.media.length)
  for (const part of prompt.media) {
    const own = await tokensOfMedia(part, family)
    if (own === null) return null
    tokens += own
  }
  const count = family.encoding === null ? Buffer.byteLength : await counterOf(family.encoding)
  // Never more than bytes: a run that was cut for the tokenizer's sake may be.
  for (const text of prompt.texts) tokens += Math.min(count(text), Buffer.byteLength(text))
  return tokens
}

async function tokensOfMedia(part: MediaPart, family: ModelFamily): Promise<number | null> {
  const { image, audioTokensPerSecond, pdfTokensPerPage } = family
  switch (part.kind) {
    case 'image':
      return image === null ? null : tokensOfImage(image, part.detail, bytesOf(part.base64))
    case 'audio': {
      const seconds = audioTokensPerSecond === null ? null : secondsOf(part.format, bytesOf(part.base64))
      return seconds === null ? null : Math.ceil(seconds * (audioTokensPerSecond ?? 0))
    }
    case 'pdf': {
      const pages = pdfTokensPerPage === null ? null : await pagesOf(bytesOf(part.base64))
      return pages === null ? null : pages * (pdfTokensPerPage ?? 0)
    }
  }
}

function bytesOf(base64: readonly string[]): Buffer
function bytesOf(base64: readonly string[] | null): Buffer | null
function bytesOf(base64: readonly string[] | null): Buffer | null {
  return base64 === null ? null : Buffer.from(base64.join(''), 'base64')
}

type Asked = {
  readonly id: number
  readonly prompt: MeasurablePrompt
  readonly families: readonly ModelFamily[]
}

async function answer({ id, prompt, families }: Asked): Promise<void> {
  const measured: (number | null)[] = []
  for (const family of families) measured.push(await measure(prompt, family))
  parentPort?.postMessage({ id, measured } satisfies { id: number; measured: Measured })
}

/** Measures prompts on a separate thread, one after the other. */
let last: Promise<void> = Promise.resolve()
parentPort?.on('message', (asked: Asked) => {
  last = last.then(() => answer(asked))
})
