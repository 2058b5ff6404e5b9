/** How one family of models turns what it is sent into tokens, as its vendor publishes it: plain data, for a thread to count by. */
export type ModelFamily = {
  /** Its tokenizer; `null`: none is published that could be run here, so that text counts by its bytes. */
  readonly encoding: 'o200k_base' | 'cl100k_base' | null
  /** `null`: what an image has is not published. */
  readonly image: ImageRule | null
  readonly audioTokensPerSecond: number | null
  readonly pdfTokensPerPage: number | null
}

export type ImageRule =
  /** Scaled to fit 2048 × 2048, then to a shortest side of 768, then cut into squares of 512. */
  | { readonly kind: 'tiles'; readonly base: number; readonly perTile: number }
  /** Squares of 32, at most 1,536 of them. */
  | { readonly kind: 'patches'; readonly multiplier: number }
  /** Up to 384 × 384 one tile, else squares of 768. */
  | { readonly kind: 'crops'; readonly perCrop: number }
  /** The most that any image has: larger ones are scaled down first. */
  | { readonly kind: 'flat'; readonly tokens: number }

const nothingPublished: ModelFamily = {
  encoding: null,
  image: null,
  audioTokensPerSecond: null,
  pdfTokensPerPage: null,
}
const o200k: ModelFamily = { ...nothingPublished, encoding: 'o200k_base' }
const cl100k: ModelFamily = { ...nothingPublished, encoding: 'cl100k_base' }
const tiles = (base: number, perTile: number): ImageRule => ({ kind: 'tiles', base, perTile })
const patches = (multiplier: number): ImageRule => ({ kind: 'patches', multiplier })

/**
 * The first that fits a model's name, with an owner in front or not. Sources, read 2026-11-23: platform.openai.com/docs/guides/images-vision
 * ("Calculating costs"), openai/tiktoken `model.py`; ai.google.dev/gemini-api/docs/tokens and /media-resolution;
 * platform.claude.com/docs/en/build-with-claude/vision. A model whose formula is not there is left out: it counts by its context.
 */
const families: readonly (readonly [name: RegExp, family: ModelFamily])[] = [
  // 1 token each 100 ms of sound: platform.openai.com/docs/guides/realtime-costs
  [/(^|\/)gpt-(4o|audio)(-mini)?-?audio|(^|\/)gpt-audio/, { ...o200k, audioTokensPerSecond: 10 }],
  [/(^|\/)gpt-4o-mini/, { ...o200k, image: tiles(2_833, 5_667) }],
  [/(^|\/)(chatgpt-4o|gpt-4o|gpt-4\.1(?!-(mini|nano))|gpt-4\.5)/, { ...o200k, image: tiles(85, 170) }],
  [/(^|\/)(gpt-4\.1-mini|gpt-5-mini)/, { ...o200k, image: patches(1.62) }],
  [/(^|\/)(gpt-4\.1-nano|gpt-5-nano)/, { ...o200k, image: patches(2.46) }],
  [/(^|\/)o4-mini/, { ...o200k, image: patches(1.72) }],
  [/(^|\/)o(1|3)(?!-mini)/, { ...o200k, image: tiles(75, 150) }],
  [/(^|\/)gpt-5(-chat|-\d{4}|$)/, { ...o200k, image: tiles(70, 140) }],
  [/(^|\/)(gpt-(5|oss)|o\d)/, o200k],
  [/(^|\/)gpt-4-turbo/, { ...cl100k, image: tiles(85, 170) }],
  [/(^|\/)(gpt-4(-|$)|gpt-3\.5|text-embedding-(3|ada))/, cl100k],
  [
    /(^|\/)gemini-2/,
    {
      encoding: null,
      image: { kind: 'crops', perCrop: 258 },
      audioTokensPerSecond: 32,
      pdfTokensPerPage: 258,
    },
  ],
  [
    /(^|\/)gemini-3/,
    { ...nothingPublished, image: { kind: 'flat', tokens: 1_120 }, audioTokensPerSecond: 32 },
  ],
  [/(^|\/)claude-/, { ...nothingPublished, image: { kind: 'flat', tokens: 4_784 } }],
]

/** The family of a model by any of its names; `undefined`: nothing is published that would bound it more tightly. */
export function familyOf(names: readonly string[]): ModelFamily | undefined {
  return families.find(([name]) => names.some((given) => name.test(given)))?.[1]
}
