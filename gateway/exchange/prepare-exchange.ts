import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { Inspection } from '#core/admission/admission-reply'
import type { RouteDocument } from '#core/catalog/catalog-document'
import type { Refusal } from '#core/errors/refusal'
import type { ApiFormat } from '../formats/api-format.ts'
import type { Caller } from '../http/authenticate.ts'
import { keyFirst, type Refused } from '../http/key-first.ts'
import { parseJsonBody } from '../requests/json-body.ts'
import { promptTokensMax } from '../routing/prompt-bound.ts'
import { type Backend, isOpenTo, type Route, type RouteTable } from '../routing/route-table.ts'
import type { MeasurablePrompt } from '../tokens/measurable-prompt.ts'
import type { OwnRequest } from '../upstream/provider-adapter.ts'
import { findRelay } from '../upstream/relay.ts'
import { modelNotFound, serviceUnavailable, unsupportedParameters, wrongModelType } from '../wire/errors.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import { whenDone } from '../wire/turns.ts'
import { candidatesOf, type MeasurePrompt, measuringOf } from './candidates.ts'
import type { Exchange, RequestOptions } from './exchange.ts'
import { findDroppedAt } from './internal/dropped-at.ts'
import { canServe } from './internal/native-only.ts'
import { parseRequestOptions } from './internal/request-options.ts'

/** A format that is made for one request; absent: that of its endpoint. */
export type OwnFormat = { readonly format?: ApiFormat }

/** The fields that an operation reads from a body. */
type AskedRequest = OwnFormat &
  Pick<Exchange, 'dropped'> & {
    readonly request: JsonObject & { readonly model: string }
    readonly own?: OwnRequest
    /** Why only backends that speak the client's API can serve it. */
    readonly nativeOnly?: Refusal
  }

/** The size of a request as its operation determines it, for its hold. */
type Measured = Pick<Exchange, 'mode' | 'choices' | 'content' | 'estimatePrompt' | 'readPrompt'> & {
  /** Of one answer, where the request names a limit. */
  readonly outputTokensMax: number | undefined
  /** Of one answer, where the request names none but allows no more than this; absent: anything. */
  readonly outputTokensCap?: number | undefined
}

/** How the requests of one operation are read; everything else before admission is the same for all of them. */
export type Operation<Asked extends AskedRequest> = {
  /** Of the models that serve it. */
  readonly type: RouteDocument['type']
  /** A promise for a large body. */
  readonly parse: (
    body: JsonObject,
    bodyBytes: number,
    headers: IncomingHttpHeaders,
  ) => Parsed<Asked> | Promise<Parsed<Asked>>
  /** A promise for a large body. May add to what is asked for. */
  readonly measure: (asked: Asked, textBytes: number) => Measuring<Asked> | Promise<Measuring<Asked>>
  /** Takes the prompt apart, for a request whose bound does not fit; `null`: part of it cannot be measured. */
  readonly takeApart: (
    asked: Asked,
    bodyBytes: number,
  ) => MeasurablePrompt | null | Promise<MeasurablePrompt | null>
}

/** `model`: by the catalog's name, if the body has another one. */
type Parsed<Asked> = Asked | { readonly refusal: Refusal; readonly model?: string }
type Measuring<Asked> = Measured & Partial<Asked>

/** The input from a client. */
export type Sent = {
  readonly requestId: string
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Counts more of its organization's content in memory until the request is over, or answers why there is no room. */
  readonly hold: (bytes: number, organizationId: string) => Refusal | undefined
}

/** Decisions made before a request is admitted. */
export type Prepared<Asked> = Asked &
  Omit<Measured, 'outputTokensMax' | 'outputTokensCap'> &
  Pick<Exchange, 'options' | 'bodyBytes' | 'candidates' | 'measureCandidates'>

/**
 * Reads a request, finds the routes that may serve it and what each must hold.
 *
 * @param measurePrompt measures a prompt whose bound does not fit.
 * @param inspect looks the caller's key up, at most once; asked only where the request is faulty or for a model that is not
 * open to all. That of a large body was found already (`http/body-reader.ts`).
 */
export async function prepareExchange<Asked extends AskedRequest>(
  operation: Operation<Asked>,
  sent: Sent,
  table: RouteTable | undefined,
  inspect: () => Promise<Inspection>,
  measurePrompt: MeasurePrompt,
): Promise<Prepared<Asked> | (Refused & OwnFormat)> {
  if (table === undefined) return { refusal: serviceUnavailable }
  const parsing = parseJsonBody(sent.body)
  const parsed = parsing instanceof Promise ? await parsing : parsing // a small body does not wait for others
  if ('refusal' in parsed) return keyFirst(await inspect(), parsed.refusal)
  const reading = readRequest(operation, sent, parsed.body)
  const read = reading instanceof Promise ? await reading : reading
  if ('refusal' in read) return keyFirst(await inspect(), read.refusal, read.model)
  const prepared = await prepareRead(operation, { ...read, sent }, table, inspect, measurePrompt)
  const { format } = read.asked
  return 'refusal' in prepared && format !== undefined ? { ...prepared, format } : prepared
}

/** A request that was read. */
type Read<Asked extends AskedRequest> = {
  readonly asked: Asked
  readonly options: RequestOptions
}

async function prepareRead<Asked extends AskedRequest>(
  operation: Operation<Asked>,
  { asked, options, sent }: Read<Asked> & { readonly sent: Sent },
  table: RouteTable,
  inspect: () => Promise<Inspection>,
  measurePrompt: MeasurePrompt,
): Promise<Prepared<Asked> | Refused> {
  const { request } = asked
  const wished = findRoutes(request.model, options, table)
  const { type } = operation
  const found = isOpenToAll(wished, type)
    ? wished
    : await allowedOf(wished, { model: request.model, type, inspect })
  if ('refusal' in found) return found
  const { nativeOnly } = asked
  if (nativeOnly !== undefined && !found.route.backends.some(({ dialect }) => canServe(asked, dialect)))
    return keyFirst(await inspect(), nativeOnly, request.model)
  const unsupported = options.strictParameters ? findUnsupported(found.route, asked) : []
  if (unsupported.length > 0)
    return keyFirst(await inspect(), unsupportedParameters(request.model, unsupported), request.model)
  const measuring = operation.measure(asked, textBytesOf(sent.body))
  const measured = measuring instanceof Promise ? await measuring : measuring
  const { maxCostNano } = options
  const asking = { ...measured, request, maxCostNano, routes: [found.route, ...found.fallbacks] as const }
  const measureCandidates = measuringOf(asking, measurePrompt, () =>
    operation.takeApart(asked, sent.body.length),
  )
  const free = candidatesOf(asking, (route) => promptTokensMax(measured.content, route))
  const fitting = 'refusal' in free ? ((await measureCandidates?.()) ?? free) : free
  if ('refusal' in fitting) return keyFirst(await inspect(), fitting.refusal, request.model)
  const { own } = asked
  const isSpoken = ({ dialect }: Backend) => findRelay(own, dialect) !== undefined
  const isNeeded = own === undefined || fitting.some(({ route }) => route.backends.some(isSpoken))
  return {
    ...(isNeeded ? asked : withoutOwn(asked)),
    ...measured,
    options,
    bodyBytes: sent.body.length,
    candidates: fitting,
    measureCandidates,
  }
}

/** The client's own body then takes no memory. */
function withoutOwn<Asked extends AskedRequest>({ own, ...others }: Asked): Asked {
  return others as unknown as Asked
}

type Reading<Asked extends AskedRequest> =
  | Read<Asked>
  | { readonly refusal: Refusal; readonly model?: string }

function readRequest<Asked extends AskedRequest>(
  { parse }: Operation<Asked>,
  { headers, body: { length } }: Sent,
  body: JsonObject,
): Reading<Asked> | Promise<Reading<Asked>> {
  return whenDone(parse(body, length, headers), (asked) => withOptions(asked, headers, body))
}

function withOptions<Asked extends AskedRequest>(
  asked: Parsed<Asked>,
  headers: IncomingHttpHeaders,
  body: JsonObject,
): Reading<Asked> {
  if (isRefusal(asked)) return { ...modelOf(body), ...asked }
  const wished = parseRequestOptions(headers)
  return 'refusal' in wished ? { ...wished, model: asked.request.model } : { asked, options: wished.options }
}

/** The model that a faulty body names, if it is a string. */
function modelOf({ model }: JsonObject): { readonly model?: string } {
  return typeof model === 'string' ? { model } : {}
}

function isRefusal<Asked extends AskedRequest>(
  asked: Parsed<Asked>,
): asked is Extract<Parsed<Asked>, { readonly refusal: Refusal }> {
  return 'refusal' in asked
}

type Routes = { readonly route: Route; readonly fallbacks: readonly Route[] }

/** The requested route and its possible fallbacks, for any caller. */
function findRoutes(model: string, options: RequestOptions, table: RouteTable): Routes | undefined {
  const route = table.findModel(model)
  return route && { route, fallbacks: options.fallbacks === 'allowed' ? table.fallbacksOf(route) : [] }
}

/** Whether it does not matter who asks: nearly always. */
function isOpenToAll(routes: Routes | undefined, type: RouteDocument['type']): routes is Routes {
  return routes !== undefined && routes.route.document.type === type && !hasClosed(routes)
}

function hasClosed({ route, fallbacks }: Routes): boolean {
  return [route, ...fallbacks].some(({ document }) => document.organizations !== null)
}

/** Those of the routes that the caller may use. A route that is closed to the caller does not exist. */
async function allowedOf(
  routes: Routes | undefined,
  { model, type, inspect }: Pick<RouteDocument, 'model' | 'type'> & { inspect: () => Promise<Inspection> },
): Promise<Routes | Refused> {
  if (routes === undefined) return keyFirst(await inspect(), modelNotFound(model), model)
  const { route } = routes
  let { fallbacks } = routes
  if (hasClosed(routes)) {
    const inspection = await inspect()
    const notFound = keyFirst(inspection, modelNotFound(model), model)
    if (inspection.outcome === 'refused') return notFound
    const { organizationId } = inspection.key
    if (!isOpenTo(route, organizationId)) return notFound
    fallbacks = fallbacks.filter((fallback) => isOpenTo(fallback, organizationId))
  }
  if (route.document.type !== type)
    return keyFirst(await inspect(), wrongModelType(model, route.document.type), model)
  return { route, fallbacks }
}

/** Bytes of a body's text once it was decoded: each byte that is no UTF-8 becomes a replacement character of three. */
function textBytesOf(body: Buffer): number {
  return isUtf8(body) ? body.length : 3 * body.length
}

/** What every backend would drop; none if one of them accepts all. */
function findUnsupported({ backends }: Route, asked: AskedRequest): readonly string[] {
  const [first, ...others] = backends.map(({ dialect }) => findDroppedAt(asked, dialect))
  if (first === undefined || others.some((dropped) => dropped.length === 0)) return []
  return first
}
