/**
 * One endpoint, as the module that owns it declares it. The process that serves it finds out who calls, renders errors,
 * measures and logs.
 *
 * @typeParam Code of the refusals that are its own; the process knows the status of each.
 */
export type HttpRoute<Code extends string> = {
  readonly method: 'GET'
  /** As Fastify reads it. */
  readonly url: string
  /** Who may call it. `api_key`: whoever has a key that may be used, for the organization of the key. */
  readonly access: 'api_key'
  readonly limit: RouteLimit
  /** What its caller is told, in whole sentences, when it cannot be served. */
  readonly messages: {
    /** The database is away: 503, with a retry in a second. */
    readonly unavailable: string
    /** A bug of ours: 500. */
    readonly failed: string
  }
  readonly handle: (request: RouteRequest) => Promise<RouteAnswer<Code>>
}

/** Calls of one key in a minute, in one process. */
export type RouteLimit = {
  readonly perMinute: number
  /** What a call gets, in the plural, as in "60 receipts per minute". */
  readonly of: string
}

type RouteRequest = {
  /** As the access rule has found it. */
  readonly caller: { readonly organizationId: string }
  /** What the placeholders of `url` stand for. */
  readonly params: Readonly<Record<string, string>>
}

/** What becomes the body of a 200; or a refusal. */
type RouteAnswer<Code extends string> =
  | { readonly body: object }
  | { readonly refusal: { readonly code: Code; readonly message: string } }
