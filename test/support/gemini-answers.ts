import type { Script, Step } from './upstream.ts'

type Parts = string | readonly object[]

/** Counts of an answer, where a script has no others: of 10 tokens 4 cached, and 5 of output, of which 2 are thoughts. */
export const geminiUsage = {
  promptTokenCount: 10,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  cachedContentTokenCount: 4,
  totalTokenCount: 15,
}

const head = { modelVersion: 'upstream-model', responseId: 'gemini-upstream' }

/** What each event of a stream counts before the last one. */
const usageSoFar = { promptTokenCount: 10, cachedContentTokenCount: 4, totalTokenCount: 10 }

/** A whole `GenerateContentResponse`: one candidate of these parts. `fields` replaces any of its top-level fields. */
export function generated(parts: Parts, fields: object = {}): Script {
  const candidates = [{ content: contentOf(parts), finishReason: 'STOP', index: 0 }]
  return sent({ candidates, usageMetadata: geminiUsage, ...head, ...fields })
}

/** The pieces of a stream, each a whole `GenerateContentResponse`. */
export const geminiChunk = {
  /** Any parts; `candidate` and `fields` replace what is next to them. */
  parts: (parts: Parts, candidate: object = {}, fields: object = {}): object => ({
    candidates: [{ content: contentOf(parts), index: 0, ...candidate }],
    usageMetadata: usageSoFar,
    ...head,
    ...fields,
  }),
  /** The last text has the signature of the whole answer. */
  text: (text: string, thoughtSignature?: string): object =>
    geminiChunk.parts([withSignature({ text }, thoughtSignature)]),
  thought: (text: string): object => geminiChunk.parts([{ text, thought: true }]),
  /** A function call is never cut. Of parallel calls only the first has a signature. */
  call: (name: string, args: object, thoughtSignature?: string, id?: string): object =>
    geminiChunk.parts([
      withSignature({ functionCall: { ...(id === undefined ? {} : { id }), name, args } }, thoughtSignature),
    ]),
  image: (mimeType: string, data: string): object => geminiChunk.parts([{ inlineData: { mimeType, data } }]),
  /** The last event: an empty text, as the original often sends, the reason, and the final counts. */
  finish: (finishReason = 'STOP', usageMetadata: object = geminiUsage): object =>
    geminiChunk.parts('', { finishReason }, { usageMetadata }),
  /** The prompt was rejected: no candidate at all. */
  blocked: (blockReason = 'SAFETY'): object => ({
    promptFeedback: { blockReason },
    usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
    ...head,
  }),
} as const

/** One event of a stream with `alt=sse`. */
export function geminiEvent(response: object): Step {
  return { send: `data: ${JSON.stringify(response)}\r\n\r\n` }
}

/** A stream with `alt=sse`. It has no event that marks its end. */
export function geminiStream(responses: readonly object[]): Script {
  return { headers: { 'content-type': 'text/event-stream' }, steps: responses.map(geminiEvent) }
}

/** The same without `alt=sse`: one JSON array, written response by response. */
export function geminiArrayStream(responses: readonly object[]): Script {
  const written = responses.map((response, at) => ({
    send: `${at === 0 ? '[' : ',\r\n'}${JSON.stringify(response, null, 2)}`,
  }))
  return { headers: jsonHeaders, steps: [...written, { send: ']' }] }
}

/** The body of an error; also an event of a stream that fails midway. */
export function geminiErrorBody(
  code: number,
  status: string,
  message: string,
  details?: readonly object[],
): object {
  return { error: { code, message, status, ...(details === undefined ? {} : { details }) } }
}

/** An error as Gemini gives it; `isListed`: in a list of one, as of a stream without `alt=sse`. */
export function geminiError(
  code: number,
  status: string,
  message: string,
  details?: readonly object[],
  isListed = false,
): Script {
  const body = geminiErrorBody(code, status, message, details)
  return { status: code, ...sent(isListed ? [body] : body) }
}

/** Vectors as `batchEmbedContents` gives them: there is no usage. */
export function geminiEmbeddings(vectors: readonly (readonly number[])[]): Script {
  return sent({ embeddings: vectors.map((values) => ({ values })) })
}

const jsonHeaders = { 'content-type': 'application/json; charset=UTF-8' }

/** Any other body, in the original's layout. */
export function sent(body: object): Script {
  return { headers: jsonHeaders, steps: [{ send: JSON.stringify(body, null, 2) }] }
}

function contentOf(parts: Parts): object {
  return { parts: typeof parts === 'string' ? [{ text: parts }] : parts, role: 'model' }
}

function withSignature(part: object, thoughtSignature: string | undefined): object {
  return thoughtSignature === undefined ? part : { ...part, thoughtSignature }
}
