import type { Refusal } from '#core/errors/refusal'
import { invalidValue } from '../wire/errors.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import { isText, type Text } from '../wire/long-text.ts'
import { namesShown } from '../wire/openai-parameters.ts'
import { type Check, list, object, oneOf, text, whole } from './internal/field-checks.ts'

/** How the numbers of an embedding are written: a JSON list, or little-endian float32 in base64. */
export type EmbeddingFormat = 'float' | 'base64'

/** The body of an embeddings request, checked; unknown fields are there as they came. */
export type EmbeddingRequest = {
  readonly model: string
  readonly input: unknown
  readonly encoding_format?: EmbeddingFormat
  readonly dimensions?: number
  readonly [field: string]: unknown
}

/** The inputs, one item per embedding. Tokens are those of cl100k_base, as LangChain sends them. */
export type EmbeddingInputs =
  | { readonly kind: 'texts'; readonly items: readonly Text[] }
  | { readonly kind: 'tokens'; readonly items: readonly (readonly number[])[] }

/** Most embeddings of one request: four times OpenAI's own limit. Their bytes are bounded separately. */
const inputsMax = 8192
const tokenMax = 2 ** 31 - 1
/** Largest JSON of everything but `input`, in bytes: it goes with every call that the inputs need, 8192 at most. */
const otherFieldsBytesMax = 16 * 1024

/**
 * Parses a body as an embeddings request, or returns its first problem, with the path of the field as
 * `param`.
 *
 * Nulls at the top mean "not set" and are dropped. An empty item anywhere in the list is an error. Other
 * large fields are errors, too.
 */
export function parseEmbeddingRequest(
  body: JsonObject,
): { readonly request: EmbeddingRequest; readonly inputs: EmbeddingInputs } | { readonly refusal: Refusal } {
  const fault = checkRequest(body)
  if (fault !== undefined) return { refusal: invalidValue(fault.path.slice(1), fault.problem) }
  const crowding = findCrowding(body)
  if (crowding !== undefined) return { refusal: tooMuchBesideInput(crowding) }
  const fields = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
  return { request: fields as EmbeddingRequest, inputs: inputsOf(body.input) }
}

/** The field with which all fields other than `input` become too large. */
function findCrowding(body: JsonObject): string | undefined {
  let bytes = 0
  for (const [name, value] of Object.entries(body)) {
    if (name === 'input') continue
    bytes += Buffer.byteLength(JSON.stringify({ [name]: value }))
    if (bytes > otherFieldsBytesMax) return name
  }
  return undefined
}

function tooMuchBesideInput(name: string): Refusal {
  const [shown = ''] = namesShown([name])
  return invalidValue(
    shown,
    `makes the request too large: all fields other than input may have ${otherFieldsBytesMax} bytes in total`,
  )
}

const filledText = text(1)
const texts = list(filledText, { min: 1, max: inputsMax })
const tokens = list(whole(0, tokenMax), { min: 1 })
const tokenLists = list(tokens, { min: 1, max: inputsMax })

/** The first item determines the type of the list. */
const checkInput: Check = (value) => {
  if (!Array.isArray(value)) return isText(value) ? filledText(value) : notInput
  const [first] = value
  if (typeof first === 'number') return tokens(value)
  return Array.isArray(first) ? tokenLists(value) : texts(value)
}
const notInput = {
  path: '',
  problem: 'must be a string, an array of strings, or an array of tokens or token arrays',
}

const checkRequest = object(
  {
    model: filledText,
    input: checkInput,
    encoding_format: oneOf(['float', 'base64']),
    dimensions: whole(1),
    user: text(),
  },
  ['model', 'input'],
)

/** Types hold: `checkInput` has passed. */
function inputsOf(input: unknown): EmbeddingInputs {
  if (!Array.isArray(input)) return { kind: 'texts', items: [input as Text] }
  if (isText(input[0])) return { kind: 'texts', items: input }
  return { kind: 'tokens', items: typeof input[0] === 'number' ? [input] : input }
}
