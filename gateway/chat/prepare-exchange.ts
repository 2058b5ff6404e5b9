import type { IncomingHttpHeaders } from 'node:http'
import type { Inspection } from '#cabinet/admission'
import {
  exceedsMaxCost,
  keyRefusal,
  modelNotFound,
  type Refusal,
  serviceUnavailable,
  unsupportedParameters,
  wrongModelType,
} from '../errors.ts'
import { parseJsonBody } from '../http/json-body.ts'
import { keyFirst, type Refused } from '../http/key-first.ts'
import { estimateHold } from '../routing/hold-estimate.ts'
import { isOpenTo, type Route, type RouteTable } from '../routing/route-table.ts'
import { findDropped } from '../upstream/openai-request.ts'
import type { ChatExchange, RequestOptions } from './chat-exchange.ts'
import { type ChatRequest, outputTokensMax, parseChatRequest } from './chat-request.ts'
import { parseRequestOptions } from './request-options.ts'
import { estimatePrompt } from './token-estimate.ts'

/**
 * Larger bodies are parsed only for a key that exists, at the price of one more look at Redis: parsing 32 MiB can take
 * seconds of everybody's time, and a key that only looks right must not buy that.
 */
const inspectedAboveBytes = 1024 * 1024

/** What is decided before a request is admitted. */
export type Prepared = Omit<ChatExchange, 'requestId' | 'startedAtMs' | 'caller' | 'raw'>

/**
 * Reads a request, finds who may serve it and what must be held: `architecture.md`, Life of a request, 1–3.
 *
 * @param inspect looks the caller's key up, at most once; asked only where the request is faulty, large, or for a
 * model that is not open to everybody.
 */
export async function prepareExchange(
  sent: { readonly headers: IncomingHttpHeaders; readonly body: Buffer },
  table: RouteTable | undefined,
  inspect: () => Promise<Inspection>,
): Promise<Prepared | Refused> {
  if (table === undefined) return { refusal: serviceUnavailable }
  if (sent.body.length > inspectedAboveBytes) {
    const inspection = await inspect()
    if (inspection.outcome === 'refused') return { refusal: keyRefusal(inspection) }
  }
  const read = readRequest(sent)
  if ('refusal' in read) return keyFirst(await inspect(), read.refusal)
  const found = await findRoutes(read, table, inspect)
  if ('refusal' in found) return found
  const { request, options } = read
  const unsupported = options.strictParameters ? findUnsupported(found.route, request) : []
  if (unsupported.length > 0)
    return keyFirst(await inspect(), unsupportedParameters(request.model, unsupported), request.model)
  const { tokens: promptTokens, allText } = estimatePrompt(request)
  const size = { promptTokens, choices: request.n ?? 1, outputTokensMax: outputTokensMax(request) }
  const first = candidateOf(found.route, size)
  const cap = options.maxCostNano
  if (cap !== null && first.holdNano > cap)
    return keyFirst(await inspect(), exceedsMaxCost(first.holdNano, cap), request.model)
  const others = found.fallbacks.map((route) => candidateOf(route, size))
  const affordable = others.filter(({ holdNano }) => cap === null || holdNano <= cap)
  return { ...read, bodyBytes: sent.body.length, allText, promptTokens, candidates: [first, ...affordable] }
}

type Read = { readonly request: ChatRequest; readonly options: RequestOptions }

function readRequest(sent: {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}): Read | { readonly refusal: Refusal } {
  const parsed = parseJsonBody(sent.body)
  if ('refusal' in parsed) return parsed
  const chat = parseChatRequest(parsed.body)
  if ('refusal' in chat) return chat
  const asked = parseRequestOptions(sent.headers)
  if ('refusal' in asked) return asked
  return { request: chat.request, options: asked.options }
}

/** The route asked for and the fallbacks that may stand in. One that is closed to the caller does not exist. */
async function findRoutes(
  { request, options }: Read,
  table: RouteTable,
  inspect: () => Promise<Inspection>,
): Promise<{ readonly route: Route; readonly fallbacks: readonly Route[] } | Refused> {
  const route = table.findModel(request.model)
  if (route === undefined) return keyFirst(await inspect(), modelNotFound(request.model))
  let fallbacks = options.fallbacks === 'allowed' ? table.fallbacksOf(route) : []
  if ([route, ...fallbacks].some(({ document }) => document.organizations !== null)) {
    const inspection = await inspect()
    if (inspection.outcome === 'refused') return { refusal: keyRefusal(inspection) }
    const { organizationId, limits } = inspection.key
    if (!isOpenTo(route, organizationId)) return { refusal: modelNotFound(request.model), limits }
    fallbacks = fallbacks.filter((fallback) => isOpenTo(fallback, organizationId))
  }
  const { type } = route.document
  if (type !== 'chat') return keyFirst(await inspect(), wrongModelType(request.model, type), request.model)
  return { route, fallbacks }
}

/** What is dropped wherever the model runs; nothing where one of its backends takes the request whole. */
function findUnsupported({ backends }: Route, request: ChatRequest): readonly string[] {
  const [first, ...others] = backends.map(({ dialect }) => findDropped(request, dialect))
  if (first === undefined || others.some((dropped) => dropped.length === 0)) return []
  return first
}

function candidateOf(route: Route, size: Parameters<typeof estimateHold>[0]) {
  return { route, ...estimateHold(size, route) }
}
