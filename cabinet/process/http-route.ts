/**
 * One endpoint, as the module that owns it declares it. The process that serves it finds out who calls, renders errors,
 * measures and logs.
 */
export type HttpRoute = {
  readonly method: 'GET'
  /** As Fastify reads it. */
  readonly url: string
  /** Who may call it. `api_key`: whoever has a key that may be used, for the organization of the key. */
  readonly access: 'api_key'
  /** Calls of one key in a minute, in one process. */
  readonly perMinute: number
  readonly handle: (request: RouteRequest) => Promise<RouteAnswer>
}

type RouteRequest = {
  /** As the access rule has found it. */
  readonly caller: { readonly organizationId: string }
  /** What the placeholders of `url` stand for. */
  readonly params: Readonly<Record<string, string>>
}

/** What becomes the body of a 200; or the code of a refusal, whose status and text the process knows. */
type RouteAnswer = { readonly body: object } | { readonly refusal: 'request_not_found' }
