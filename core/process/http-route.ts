import type { IncomingHttpHeaders } from 'node:http'

/**
 * One endpoint, as the module that owns it declares it. The process that serves it identifies the caller,
 * renders errors, measures and logs.
 *
 * @typeParam Code of the endpoint's errors; the process has the status of each.
 */
export type HttpRoute<Code extends string> = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As Fastify reads it. */
  readonly url: string
  /** Who may call it. `api_key`: any caller with a usable key, for the organization of the key. */
  readonly access: 'api_key'
  readonly limit: RouteLimit
  /** Longest body, of the type `application/octet-stream`, in bytes; absent: it has none. */
  readonly bodyBytesMax?: number
  /** Error messages in whole sentences, for callers that cannot be served. */
  readonly messages: {
    /** The database is unavailable: 503, with a retry in a second. */
    readonly unavailable: string
    /** A bug in this program: 500. */
    readonly failed: string
  }
  readonly handle: (request: RouteRequest) => Promise<RouteAnswer<Code>>
}

/** Calls of one key in a minute, in one process. */
export type RouteLimit = {
  readonly perMinute: number
  /** The result of a call, in the plural, as in "60 receipts per minute". */
  readonly of: string
}

export type RouteCaller = { readonly organizationId: string; readonly keyId: string }

type RouteRequest = {
  /** As the access rule has found it. */
  readonly caller: RouteCaller
  /** The values of the placeholders in `url`. */
  readonly params: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** Empty where there is none. */
  readonly body: Buffer
}

/** The body of a 200, JSON or bytes, or an error. */
type RouteAnswer<Code extends string> =
  | { readonly body: object }
  | { readonly bytes: Buffer }
  | { readonly refusal: { readonly code: Code; readonly message: string } }
