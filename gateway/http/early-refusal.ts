import type { IncomingMessage } from 'node:http'
import type { Refusal } from '#core/errors/refusal'
import { malformedRequest, methodNotAllowed, unknownUrl, upgradeRefused } from '../wire/errors.ts'

/** Every path of the public port, with the methods it accepts. */
const methods: readonly (readonly [path: RegExp, method: string])[] = [
  [/^\/v1\/(?:chat\/completions|responses|embeddings)$/, 'POST'],
  [/^\/v1\/responses\/.+/, 'GET, DELETE'],
  [/^\/v1\/(?:models(?:\/.+)?|key|requests\/.+)$/, 'GET'],
]

/** The probable meaning of a path that does not exist: the first match. */
const hints: readonly (readonly [path: RegExp, hint: string])[] = [
  [
    /\/\//,
    "The path has two slashes in a row. The client's base URL must end with /v1, without a trailing slash.",
  ],
  [/^(?:\/v1)?\/completions$/, 'The legacy Completions API is not supported. Use /v1/chat/completions.'],
  [
    /^\/v1\/chat\/completions\/chatcmpl-/,
    'Chat completions are not stored. GET /v1/requests/chatcmpl-… returns the receipt of one.',
  ],
  [
    /\/chat\/completions\/./,
    "The client's base URL must end with /v1; the client adds /chat/completions itself.",
  ],
  [/^\/v1\/v1\//, "The client's base URL must contain /v1 only once."],
  [
    /^(?!\/v1\/).*\/(?:completions|responses|embeddings|models)(?:\/|$)/,
    "The client's base URL must end with /v1.",
  ],
]

/** The error of a URL that has no route: its method, or the path itself. */
export function refuseAddress(request: IncomingMessage): Refusal {
  const { method = 'GET', url = '/' } = request
  const path = pathOf(url)
  const allowed = methodOf(path)
  if (path === '/v1/responses' && /^websocket$/i.test(request.headers.upgrade ?? '')) return upgradeRefused
  return allowed === undefined || allowed.split(', ').includes(method)
    ? unknownUrl(method, path, hintFor(path)) // the method is right: the path cannot be decoded
    : methodNotAllowed(method, allowed)
}

function methodOf(path: string): string | undefined {
  return methods.find(([pattern]) => pattern.test(path))?.[1]
}

/**
 * Problems in the head of any request: HTTP/1.1 without a Host header, or with two (RFC 9112 §3.2), which
 * Node would reject without our body and headers; two keys; a body in another coding than `chunked`. A proxy
 * in front of the gateway may have read the other one.
 */
export function refuseProtocol({ httpVersion, rawHeaders, headers }: IncomingMessage): Refusal | undefined {
  const { hosts, keys } = countHeaders(rawHeaders)
  const isFaulty = hosts > 1 || (hosts === 0 && httpVersion === '1.1') || keys > 1
  const coding = headers['transfer-encoding']
  return isFaulty || (coding !== undefined && !/^chunked$/i.test(coding)) ? malformedRequest : undefined
}

/** Node keeps the first of several in `headers`. Few names are as long as these two, so that this costs 40 ns. */
function countHeaders(rawHeaders: readonly string[]): { readonly hosts: number; readonly keys: number } {
  let hosts = 0
  let keys = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name?.length === 13 && name.toLowerCase() === 'authorization') keys += 1
  }
  return { hosts, keys }
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url
}

function hintFor(path: string): string {
  const hint = hints.find(([pattern]) => pattern.test(path))?.[1]
  if (hint !== undefined) return hint
  return path.endsWith('/') && methodOf(path.slice(0, -1)) !== undefined ? 'Remove the trailing slash.' : ''
}
