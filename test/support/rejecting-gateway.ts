import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { loneGatewayOfThisFile } from './lone-gateway.ts'
import { type Answer, plain, type Script, streamed } from './upstream.ts'

/** A request, where it differs from one that is served. */
export type Asking = {
  readonly path?: string
  readonly method?: string
  readonly key?: string
  readonly headers?: Record<string, string>
  readonly body?: object | string
}

export type Rejection = readonly [
  what: string,
  asking: () => Asking | Promise<Asking>,
  status: number,
  code: string,
]

/** How one API writes the requests that are rejected. */
type Wording = {
  /** A good body with this text. */
  readonly saying: (text: string) => object
  /** A body with a field that is wrong. */
  readonly faulty: object
  readonly unknownModel: string
}

type Lone = Awaited<ReturnType<typeof loneGatewayOfThisFile>>
type WithKey = (changes: Parameters<Lone['createKey']>[0], asking?: Asking) => () => Promise<Asking>

const spoken: Answer = ({ body }) => (body.stream === true ? streamed(['Hello']) : plain('Hello'))

/** Where the documentation of the gateway below explains a code. */
export const docUrlOf = (code: string) => `https://cabinet.example/en/docs/errors#${code}`

/** Of the gateway below: larger than all that its tests send, and quickly sent. */
export const bodyBytesMax = 200_000

/** A lone gateway that waits a second for a body, and what it rejects in every API. */
export async function rejectingGatewayOfThisFile() {
  const lone = await loneGatewayOfThisFile({
    GATEWAY_REQUEST_TIMEOUT_MS: '1000',
    GATEWAY_BODY_BYTES_MAX: String(bodyBytesMax),
    APP_URL: 'https://cabinet.example',
  })
  const withKey: WithKey = (changes, asking) => async () => ({
    key: (await lone.createKey(changes)).key,
    ...asking,
  })
  return {
    ...lone,
    /** A key that may use every model. */
    owner: await lone.createKey(),
    /** A request with a new key. */
    withKey,
    /** `demo/echo` answers so until the end of this test. */
    answerInThisTest(script: Script): void {
      lone.upstream.answer('demo/echo', script)
      onTestFinished(() => lone.upstream.answer('demo/echo', spoken))
    },
    /** All that comes back on a connection whose body stops after its first byte. */
    sendFirstByte: (path: string, headers: readonly string[]) =>
      sendFirstByte(lone.gateway.port, path, headers),
    rejectionsOf: (wording: Wording) => rejectionsOf(wording, withKey),
  }
}

function rejectionsOf({ saying, faulty, unknownModel }: Wording, withKey: WithKey): readonly Rejection[] {
  const hello = saying('Say hello')
  const long = saying('x'.repeat(20_000))
  const blocked = { state: 'blocked', blockedBy: 'owner' } as const
  return [
    ['a body that is not JSON', () => ({ body: '{' }), 400, 'invalid_json'],
    ['a wrong field', () => ({ body: faulty }), 400, 'invalid_value'],
    ['an unknown model', () => ({ body: { ...hello, model: unknownModel } }), 404, 'model_not_found'],
    ['an embedding model', () => ({ body: { ...hello, model: 'demo/vector' } }), 400, 'wrong_model_type'],
    ['a wrong option', () => ({ headers: { 'x-gateway-timeout-ms': '-1' } }), 400, 'invalid_value'],
    [
      'another media type',
      () => ({ headers: { 'content-type': 'text/plain' } }),
      415,
      'unsupported_media_type',
    ],
    [
      'a body that is announced too large',
      () => ({ headers: { 'content-length': String(2 ** 40) }, body: '' }),
      413,
      'request_too_large',
    ],
    ['a blocked key', withKey(blocked), 403, 'api_key_blocked'],
    ['a blocked key, before its body is read', withKey(blocked, { body: long }), 403, 'api_key_blocked'],
    ['a model that the key may not use', withKey({ allowedModels: ['other/*'] }), 403, 'model_not_allowed'],
    ['no money', withKey({ balanceNano: 0n }), 402, 'insufficient_balance'],
    [
      'no money, before its body is read',
      withKey({ balanceNano: 0n }, { body: long }),
      402,
      'insufficient_balance',
    ],
    ['no requests left this minute', withKey({ rpm: 0 }), 429, 'rate_limit_exceeded'],
  ]
}

async function sendFirstByte(port: number, path: string, headers: readonly string[]): Promise<string> {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: gateway',
    ...headers,
    'content-type: application/json',
    'content-length: 100',
  ]
  const socket = connect(port, '127.0.0.1')
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  let text = ''
  for await (const bytes of socket) text += bytes
  return text
}
