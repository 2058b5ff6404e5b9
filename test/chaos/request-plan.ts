import { createRandom, drawWeighted, drawWhole } from './seeded-random.ts'

/** The one model; every call of it may be tried twice. */
export const model = 'chaos/house'

/** Nano-rubles per token. No token count gives the cost of another one. */
export const price = { inputNano: 1_009n, outputNano: 1_000_003n } as const

/**
 * Output limit of every request and of the model. No provider here reports or generates more, so holds always
 * suffice.
 */
export const outputTokensMax = 200

/** Of the model: a prompt with an image may have as many tokens, and some have. */
export const contextLength = 3_000

/** What an image counts as where its provider does not count. */
export const imageTokens = 1_100

/** The content of one chunk of the provider: 13 characters, two or three tokens. */
export const piece = ' yellow house'
export const pieceTokensMax = 3

/** How the provider treats a call. `stalls` and `cuts`: half of the answer is out by then. */
export type Behaviour = 'answers' | 'no_usage' | 'status_500' | 'hangs' | 'stalls' | 'cuts'

/** Everything about one request that is drawn and not measured; client and provider both know it by the tag. */
export type RequestPlan = {
  readonly tag: number
  /** In [0, 1): who asks. */
  readonly customerDraw: number
  readonly stream: boolean
  /** Whether the request sets its output limit; otherwise the gateway does. */
  readonly namesLimit: boolean
  readonly showsUsage: boolean
  /** Its prompt has an image behind a link. */
  readonly image: boolean
  /** When the client leaves, in ms after it asked; `null`: it stays. */
  readonly leavesAfterMs: number | null
  /** What the provider does with the first call, and with those after it. */
  readonly behaviour: { readonly first: Behaviour; readonly again: Behaviour }
  /** What the provider counts. */
  readonly promptTokens: number
  readonly completionTokens: number
  /** How often the provider sends `piece`, and how long it takes for each. */
  readonly pieceCount: number
  readonly pieceEveryMs: number
}

/** 5 % without usage, 2 % hangs and errors (and as many broken answers), as the issue has it. */
const behaviours = { answers: 91, no_usage: 5, status_500: 1, hangs: 1, stalls: 1, cuts: 1 } as const
const streamShare = 0.3
const leaverShare = 0.1
const imageShare = 0.2

/** The plan of the request with this tag, in the run of this seed. Pure: it need not be stored. */
export function planOf(seed: number, tag: number): RequestPlan {
  const random = createRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(tag, 0x85ebca6b))
  const stream = random() < streamShare
  // A tenth of the streams is long: renewals report what they delivered, and raise their holds.
  const pieceCount = random() < 0.1 ? drawWhole(random, 48, 60) : drawWhole(random, 1, 15)
  const pieceEveryMs = drawWhole(random, 2, 60)
  const durationMs = stream ? pieceCount * pieceEveryMs : pieceEveryMs * 8
  const image = random() < imageShare
  return {
    tag,
    image,
    customerDraw: random(),
    stream,
    showsUsage: random() < 0.5,
    leavesAfterMs: random() < leaverShare ? Math.round(random() * 1.2 * durationMs) : null,
    behaviour: {
      first: drawWeighted(random, behaviours),
      again: random() < 0.7 ? 'answers' : drawWeighted(random, behaviours),
    },
    promptTokens: image ? drawWhole(random, 25, contextLength) : drawWhole(random, 5, 25),
    completionTokens: drawWhole(random, 1, outputTokensMax),
    pieceCount,
    pieceEveryMs,
    namesLimit: random() < 2 / 3,
  }
}

/** Requests that a run can distinguish: 24 bits. */
const tagBits = 24

/** Parameters that the model's route drops: their names travel to the ledger in the record of the request. */
export const tagParameters: readonly string[] = Array.from(
  { length: tagBits },
  (_, bit) => `chaos_bit_${bit}`,
)

/** The body of a request. Its tag is in the message, for the provider, and in the parameters, for the ledger. */
export function bodyOf(plan: RequestPlan, model: string): string {
  const bits = tagParameters.filter((_, bit) => ((plan.tag >> bit) & 1) === 1)
  const text = `This is request ${plan.tag}; please say something about the house.`
  const image = { type: 'image_url', image_url: { url: 'https://example.com/house.png' } }
  const content = plan.image ? [{ type: 'text', text }, image] : text
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content }],
    ...(plan.namesLimit ? { max_tokens: outputTokensMax } : {}),
    ...(plan.stream ? { stream: true } : {}),
    ...(plan.stream && plan.showsUsage ? { stream_options: { include_usage: true } } : {}),
    ...Object.fromEntries(bits.map((name) => [name, 1])),
  })
}

/** The tag in a body as the provider got it, or `undefined`. */
export function findTag(body: string): number | undefined {
  const found = /This is request (\d+);/.exec(body)?.[1]
  return found === undefined ? undefined : Number(found)
}

/** The tag that a record's dropped parameters spell, or `undefined` when there are none. */
export function tagOfDropped(names: readonly string[]): number | undefined {
  const bits = names.map((name) => tagParameters.indexOf(name)).filter((bit) => bit >= 0)
  return bits.length === 0 ? undefined : bits.reduce((tag, bit) => tag | (1 << bit), 0)
}
