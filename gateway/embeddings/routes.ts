import type { FastifyInstance } from 'fastify'
import { candidatesOf } from '../exchange/candidates.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute, type Prepare } from '../exchange/exchange-route.ts'
import { type Operation, type Prepared, prepareExchange } from '../exchange/prepare-exchange.ts'
import { chatFormat } from '../formats/chat-format.ts'
import { keyFirst } from '../http/key-first.ts'
import { type EmbeddingInputs, parseEmbeddingRequest } from '../requests/embedding-request.ts'
import { promptTokensMax } from '../routing/prompt-bound.ts'
import type { MeasurablePrompt } from '../tokens/measurable-prompt.ts'
import type { TokenDecoder } from '../tokens/token-decoder.ts'
import { invalidValue, tokensNotDecoded } from '../wire/errors.ts'
import { piecesOf, type Text } from '../wire/long-text.ts'
import { whenDone, workThrough } from '../wire/turns.ts'
import { promptOf, sizeInputs } from './internal/input-prompt.ts'

type Embeddings = Pick<
  Extract<Exchange, { endpoint: 'embeddings' }>,
  'endpoint' | 'request' | 'inputs' | 'inputTokens' | 'texts'
>

const embeddings: Operation<Embeddings> = {
  type: 'embedding',
  parse(body) {
    const parsed = parseEmbeddingRequest(body)
    return 'refusal' in parsed ? parsed : { endpoint: 'embeddings', texts: null, inputTokens: [], ...parsed }
  },
  measure({ inputs }, bodyBytes) {
    const sized = workThrough(sizeInputs(inputs), bodyBytes)
    return whenDone(sized, (inputTokens) => measured(inputs, inputTokens, bodyBytes))
  },
  takeApart: ({ inputs }) => (inputs.kind === 'texts' ? textsOf(inputs.items) : null),
}

/**
 * Tokens that models put around each input in addition to its own quotes and comma: begin and end tokens, a
 * short prefix.
 */
const tokensAroundInput = 8

function measured(inputs: EmbeddingInputs, inputTokens: readonly number[], bodyBytes: number) {
  const prompt = promptOf({ inputs, inputTokens })
  const prompts = inputTokens.length
  const bytes = bodyBytes + tokensAroundInput * prompts
  const content = { prompts, bytes, outside: null, unknownParameters: [] }
  return { mode: 'plain', choices: 0, outputTokensMax: 0, content, inputTokens, ...prompt } as const
}

/** Only the input is embedded: all other fields have at most 16 KiB, and no model reads them. */
function textsOf(items: readonly Text[]): MeasurablePrompt {
  return { texts: items.flatMap(piecesOf), otherBytes: 0, media: [] }
}

/** `POST /v1/embeddings`, in either format and from texts or tokens, whatever the provider speaks. */
export function embeddingRoutes(
  app: FastifyInstance,
  deps: ExchangeDeps & { readonly decoder: TokenDecoder },
): void {
  const endpoint = { path: '/v1/embeddings', access: 'api_key', format: chatFormat } as const
  exchangeRoute(app, endpoint, deps, prepareWith(deps.decoder))
}

/** A token may be many bytes of text, and a model with other tokens may make as many of them. */
function candidatesOfTexts(prepared: Prepared<Embeddings>, texts: readonly string[]) {
  const [first, ...fallbacks] = prepared.candidates
  const routes = [first.route, ...fallbacks.map(({ route }) => route)] as const
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), prepared.content.bytes)
  const content = { ...prepared.content, bytes }
  const asking = {
    ...prepared,
    content,
    routes,
    outputTokensMax: 0,
    maxCostNano: prepared.options.maxCostNano,
  }
  return candidatesOf(asking, (route) => promptTokensMax(content, route))
}

/** Tokens are decoded before admission: an invalid token is the caller's error, and costs nothing. */
function prepareWith(decoder: TokenDecoder): Prepare {
  return async (sent, table, inspect, measurePrompt) => {
    const prepared = await prepareExchange(embeddings, sent, table, inspect, measurePrompt)
    if ('refusal' in prepared) return prepared
    const { inputs, candidates, request } = prepared
    const backends = candidates.flatMap(({ route }) => route.backends)
    const takesTokens = backends.every(({ dialect }) => dialect.quirks.embeddings.tokens === 'yes')
    if (inputs.kind === 'texts' || takesTokens) return prepared
    const inspection = await inspect() // a key that only looks right must not buy this work
    if (inspection.outcome === 'refused') return keyFirst(inspection, tokensNotDecoded, request.model)
    const decoded = await decoder.decode(inputs.items)
    if (decoded === undefined) return keyFirst(inspection, tokensNotDecoded, request.model)
    if ('texts' in decoded) {
      const recounted = candidatesOfTexts(prepared, decoded.texts)
      if ('refusal' in recounted) return keyFirst(inspection, recounted.refusal, request.model)
      return { ...prepared, texts: decoded.texts, candidates: recounted, measureCandidates: null }
    }
    const place =
      Array.isArray(request.input) && Array.isArray(request.input[0]) ? `[${decoded.wrongAt}]` : ''
    const fault = invalidValue(
      `input${place}`,
      'contains a token that cl100k_base does not have; send text instead',
    )
    return keyFirst(inspection, fault, request.model)
  }
}
