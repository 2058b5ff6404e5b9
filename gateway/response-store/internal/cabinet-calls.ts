import { type Dispatcher, Pool } from 'undici'
import type { CallerPlace } from '#core/keys/caller-place'
import { proofHeader } from '#core/stored-responses/response-frame'

/** One call about stored responses, for the caller whose key it carries. */
type CabinetCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/v1/responses`. */
  readonly path: string
  readonly authorization: string
  /** Of the client. */
  readonly ip: string
  readonly requestId: string
  readonly body?: Buffer
  /** That a gateway writes. */
  readonly proof?: string
}

/** `unavailable`: it does not respond in time, or not as the cabinet does. */
export type CabinetAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly bytes: Buffer }
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export type CabinetCalls = {
  call(call: CabinetCall): Promise<CabinetAnswer>
  close(): Promise<void>
}

/** For the whole answer, or the headers of it to a write. The cabinet gives Postgres 3 s. */
const timeoutMs = 5_000
/** Calls at a time; more wait. */
export const connectionsMax = 16

/** Calls of the cabinet at `cabinetUrl`, over its own connections. */
export function createCabinetCalls(
  cabinetUrl: string,
  answerBytesMax: number,
  place: CallerPlace,
): CabinetCalls {
  const { origin, pathname } = new URL(cabinetUrl)
  const prefix = `${pathname.replace(/\/+$/, '')}/v1/responses`
  const pool = new Pool(origin, {
    allowH2: false,
    connections: connectionsMax,
    maxResponseSize: answerBytesMax,
    headersTimeout: timeoutMs,
  })
  return {
    async call({ method, path, authorization, ip, requestId, body, proof }) {
      const headers = ['authorization', authorization, 'x-request-id', requestId]
      headers.push(...Object.entries(place.headersOf(authorization, ip)).flat())
      if (body !== undefined) headers.push('content-type', 'application/octet-stream')
      if (proof !== undefined) headers.push(proofHeader, proof)
      const request = { method, path: prefix + path, headers, ...(body === undefined ? {} : { body }) }
      try {
        return method === 'PUT' ? await write(pool, request) : await read(pool, request)
      } catch (cause) {
        return { kind: 'unavailable', cause }
      }
    },
    close: () => pool.destroy(),
  }
}

type Answered = Extract<CabinetAnswer, { readonly kind: 'answered' }>

async function read(pool: Pool, request: Dispatcher.RequestOptions): Promise<Answered> {
  const answer = await pool.request({ ...request, signal: AbortSignal.timeout(timeoutMs) })
  return { kind: 'answered', status: answer.statusCode, bytes: Buffer.from(await answer.body.arrayBuffer()) }
}

/** There is one for each stored response: without a stream for the few bytes of its answer, and in the pool's time. */
function write(pool: Pool, request: Dispatcher.DispatchOptions): Promise<Answered> {
  return new Promise((resolve, reject) => {
    let status = 0
    const parts: Buffer[] = []
    pool.dispatch(request, {
      onRequestStart() {},
      onResponseStart(_, answered) {
        status = answered
      },
      onResponseData: (_, bytes) => void parts.push(bytes),
      onResponseEnd: () => resolve({ kind: 'answered', status, bytes: Buffer.concat(parts) }),
      onResponseError: (_, error) => reject(error),
    })
  })
}
