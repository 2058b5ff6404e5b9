import type { IncomingMessage } from 'node:http'
import type { Refusal } from '#core/errors/refusal'
import { findBearer } from '#core/keys/key'
import { malformedRequest, methodNotAllowed, twoKeys, unknownUrl, upgradeRefused } from '../wire/errors.ts'

/** Every path of the public port, with the methods it accepts. */
const methods: readonly (readonly [path: RegExp, method: string])[] = [
  [/^\/v1\/(?:chat\/completions|responses|messages|messages\/count_tokens|embeddings)$/, 'POST'],
  [/^\/v1\/responses\/resp_[^/]*$/, 'GET, DELETE'],
  [/^\/v1\/responses\/resp_[^/]*\/input_items$/, 'GET'],
  [/^\/v1\/(?:models(?:\/.+)?|key|requests\/.+)$/, 'GET'],
]

/** The probable meaning of a path that does not exist: the first match. */
const hints: readonly (readonly [path: RegExp, hint: string])[] = [
  [
    /\/\//,
    "The path has two slashes in a row. The client's base URL must end with /v1, without a trailing slash.",
  ],
  [/^\/v1\/responses\/./, 'POST /v1/responses creates a response.'],
  [/^(?:\/v1)?\/completions$/, 'The legacy Completions API is not supported. Use /v1/chat/completions.'],
  [
    /^\/v1\/chat\/completions\/chatcmpl-/,
    'Chat completions are not stored. GET /v1/requests/chatcmpl-… returns the receipt of one.',
  ],
  [
    /\/chat\/completions\/./,
    "The client's base URL must end with /v1; the client adds /chat/completions itself.",
  ],
  [
    /^\/v1\/v1\/messages(?:\/|$)/,
    'The client adds /v1 itself: its base URL (ANTHROPIC_BASE_URL) must not end with /v1.',
  ],
  [/^\/v1\/v1\//, "The client's base URL must contain /v1 only once."],
  [/^\/v1\/messages\/batches(?:\/|$)/, 'Batches are not supported. Send single requests to /v1/messages.'],
  [/^\/v1\/messages\/msg_/, 'Messages are not stored. GET /v1/requests/msg_… returns the receipt of one.'],
  [
    /^(?!\/v1\/).*\/(?:completions|responses|messages|embeddings|models)(?:\/|$)/,
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
 *
 * One key in both of its headers is one key: Anthropic's clients send it so.
 */
export function refuseProtocol({ httpVersion, rawHeaders, headers }: IncomingMessage): Refusal | undefined {
  const { hosts, bearers, apiKeys } = countHeaders(rawHeaders)
  const isFaulty = hosts > 1 || (hosts === 0 && httpVersion === '1.1') || bearers > 1
  const coding = headers['transfer-encoding']
  if (isFaulty || (coding !== undefined && !/^chunked$/i.test(coding))) return malformedRequest
  if (apiKeys === 0 || apiKeys + bearers === 1) return undefined
  return apiKeys === 1 && findBearer(headers.authorization) === headers['x-api-key'] ? undefined : twoKeys
}

type HeaderCounts = { readonly hosts: number; readonly bearers: number; readonly apiKeys: number }

/** Node keeps the first of several in `headers`. Few names are as long as these three, so that this costs 40 ns. */
function countHeaders(rawHeaders: readonly string[]): HeaderCounts {
  let hosts = 0
  let bearers = 0
  let apiKeys = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name?.length === 9 && name.toLowerCase() === 'x-api-key') apiKeys += 1
    else if (name?.length === 13 && name.toLowerCase() === 'authorization') bearers += 1
  }
  return { hosts, bearers, apiKeys }
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url
}

function hintFor(path: string): string {
  const hint = hints.find(([pattern]) => pattern.test(path))?.[1]
  if (hint !== undefined) return hint
  return path.endsWith('/') && methodOf(path.slice(0, -1)) !== undefined ? 'Remove the trailing slash.' : ''
}
