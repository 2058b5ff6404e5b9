import type { FastifyInstance } from 'fastify'
import type { Exchange } from '../exchange/exchange.ts'
import { type ExchangeDeps, exchangeRoute, type Prepare } from '../exchange/exchange-route.ts'
import { type Operation, prepareExchange } from '../exchange/prepare-exchange.ts'
import { keyFirst } from '../http/key-first.ts'
import { type EmbeddingInputs, parseEmbeddingRequest } from '../requests/embedding-request.ts'
import type { TokenDecoder } from '../tokens/token-decoder.ts'
import { invalidValue, tokensNotDecoded } from '../wire/errors.ts'
import { workThrough } from '../wire/turns.ts'
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
    return sized instanceof Promise
      ? sized.then((inputTokens) => measured(inputs, inputTokens))
      : measured(inputs, sized)
  },
  countUnread: () => 0, // only the input is embedded, and all other fields have at most 16 KiB
}

function measured(inputs: EmbeddingInputs, inputTokens: readonly number[]) {
  const prompt = promptOf({ inputs, inputTokens })
  return { mode: 'plain', choices: 0, outputTokensMax: 0, allText: true, inputTokens, ...prompt } as const
}

/** `POST /v1/embeddings`, in either format and from texts or tokens, whatever the provider speaks. */
export function embeddingRoutes(
  app: FastifyInstance,
  deps: ExchangeDeps & { readonly decoder: TokenDecoder },
): void {
  exchangeRoute(app, { path: '/v1/embeddings', access: 'api_key' }, deps, prepareWith(deps.decoder))
}

/** Tokens are decoded before admission: an invalid token is the caller's fault, and costs nothing. */
function prepareWith(decoder: TokenDecoder): Prepare {
  return async (sent, table, inspect) => {
    const prepared = await prepareExchange(embeddings, sent, table, inspect)
    if ('refusal' in prepared) return prepared
    const { inputs, candidates, request } = prepared
    const backends = candidates.flatMap(({ route }) => route.backends)
    const takesTokens = backends.every(({ dialect }) => dialect.quirks.embeddings.tokens === 'yes')
    if (inputs.kind === 'texts' || takesTokens) return prepared
    const inspection = await inspect() // a key that only looks right must not buy this work
    if (inspection.outcome === 'refused') return keyFirst(inspection, tokensNotDecoded, request.model)
    const decoded = await decoder.decode(inputs.items)
    if (decoded === undefined) return keyFirst(inspection, tokensNotDecoded, request.model)
    if ('texts' in decoded) return { ...prepared, texts: decoded.texts }
    const place =
      Array.isArray(request.input) && Array.isArray(request.input[0]) ? `[${decoded.wrongAt}]` : ''
    const fault = invalidValue(
      `input${place}`,
      'contains a token that cl100k_base does not have; send text instead',
    )
    return keyFirst(inspection, fault, request.model)
  }
}
