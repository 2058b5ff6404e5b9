import { Pool } from 'undici'
import type { CallerPlace } from '#core/keys/caller-place'
import { fieldsOf, findJson } from '../wire/json-fields.ts'

/** The response of the cabinet: a receipt, or an error in the gateway's own format. */
export type ForwardedAnswer = {
  readonly status: number
  readonly json: string
  /** Of `forwardedHeaders`, those that came. */
  readonly headers: Readonly<Record<string, string>>
}

/** The cabinet as a source of receipts. */
export type ReceiptSource = {
  /** @throws CabinetUnavailable when it does not answer in time, or not as the cabinet does. */
  ask(asked: {
    readonly id: string
    readonly authorization: string
    /** Of the client. */
    readonly ip: string
    readonly requestId: string
  }): Promise<ForwardedAnswer>
  close(): Promise<void>
}

/** The cabinet is unavailable, or what answers there is not the cabinet. */
export class CabinetUnavailable extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.name = 'CabinetUnavailable'
  }
}

/** For the whole answer. The cabinet gives Postgres 3 s. */
const timeoutMs = 5_000
/** A receipt is a few KB; one of 32 attempts and long names stays far below. */
const answerBytesMax = 1024 * 1024
/** Users and scripts read receipts one by one; more at once wait. */
const connectionsMax = 16
/** Headers of the cabinet's answer that clients act on. */
const forwardedHeaders = ['retry-after', 'x-should-retry', 'www-authenticate'] as const

/** Asks the cabinet at `cabinetUrl`. Sends the caller's key and address and the request id, nothing else; follows no redirect. */
export function createReceiptSource(cabinetUrl: string, place: CallerPlace): ReceiptSource {
  const { origin, pathname } = new URL(cabinetUrl)
  const prefix = pathname.replace(/\/+$/, '')
  const pool = new Pool(origin, {
    allowH2: false,
    connections: connectionsMax,
    maxResponseSize: answerBytesMax,
  })
  return {
    async ask({ id, authorization, ip, requestId }) {
      try {
        const answer = await pool.request({
          method: 'GET',
          path: `${prefix}/v1/requests/${encodeURIComponent(id)}`,
          headers: {
            authorization,
            ...place.headersOf(authorization, ip),
            'x-request-id': requestId,
            accept: 'application/json',
          },
          signal: AbortSignal.timeout(timeoutMs),
        })
        return readAnswer(answer.statusCode, answer.headers, await answer.body.text())
      } catch (error) {
        if (error instanceof CabinetUnavailable) throw error
        throw new CabinetUnavailable('the cabinet did not respond', { cause: error })
      }
    },
    close: () => pool.destroy(),
  }
}

function readAnswer(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  json: string,
): ForwardedAnswer {
  const fields = fieldsOf(findJson(json))
  const isOurs = status === 200 ? fields?.object === 'request' : fieldsOf(fields?.error)?.code !== undefined
  if (!isOurs)
    throw new CabinetUnavailable(
      `the server at CABINET_URL is not the cabinet (it answered with status ${status})`,
    )
  const forwarded = forwardedHeaders.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return { status, json, headers: Object.fromEntries(forwarded) }
}
