import { Pool } from 'undici'
import type { z } from 'zod'
import { errorName } from '#core/process/error-name'
import { findJson } from '#core/process/json'
import { unlessAborted } from '#core/process/unless-aborted'
import {
  type Answer,
  type FetchedPayment,
  type FetchedRefund,
  type Listed,
  listItemsMax,
  listTooLong,
  type Provider,
  type Unreadable,
} from './provider.ts'
import {
  errorShape,
  listShape,
  outlineShape,
  paymentShape,
  processingShape,
  refundShape,
} from './yookassa-shapes.ts'

export type YookassaAccess = {
  /** Ends with `/v3`. */
  readonly url: string
  readonly shopId: string
  readonly secretKey: string
}

/** Timeout of the whole response. The provider gives itself 30 s, and then reports an unknown outcome. */
const timeoutMs = 32_000
const answerBytesMax = 2 * 1024 * 1024
const connectionsMax = 16
/** "Once a minute, until the answer is another one than 500". */
const repeatMs = 60_000
/** Far below 24 hours, after which the outcome is searched for instead. */
const retryAfterMsMax = 3_600_000
const pageSize = 100

type Meaning = 'answered' | 'in_progress' | 'unknown' | 'refused'

/** Statuses unrelated to the request itself: a wrong key, too many requests, or an error of a proxy. */
const notOfTheRequest = new Set([401, 403, 408, 429])

/** The meaning of a status, by the provider's rules, or ours where it has none. */
function meaningOf(status: number): Meaning {
  if (status === 200) return 'answered'
  if (status === 202) return 'in_progress'
  return status >= 400 && status < 500 && !notOfTheRequest.has(status) ? 'refused' : 'unknown'
}

type Call = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly key?: string
  readonly body?: string
}

type Yookassa = {
  /** @param ends aborts all calls, with an unknown outcome; `undefined`: only the provider's timeout ends a call */
  readonly provider: (ends?: AbortSignal) => Provider
  readonly close: () => Promise<void>
}

/** YooKassa's API v3. Its credentials are only in one header. Redirects are not followed. */
export function createYookassa({ url, shopId, secretKey }: YookassaAccess): Yookassa {
  const { origin, pathname } = new URL(url)
  const prefix = pathname.replace(/\/+$/, '')
  const authorization = `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}`
  const pool = new Pool(origin, {
    allowH2: false,
    connections: connectionsMax,
    maxResponseSize: answerBytesMax,
  })

  async function call<Shape extends z.ZodType>(
    shape: Shape,
    { method, path, key, body }: Call,
    ends: AbortSignal | undefined,
  ): Promise<Answer<z.output<Shape>>> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = ends === undefined ? timeout : AbortSignal.any([timeout, ends])
    try {
      const request = pool.request({
        method,
        path: `${prefix}${path}`,
        signal,
        ...(body === undefined ? {} : { body }),
        headers: {
          authorization,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotence-key': key }),
        },
      })
      const { statusCode, body: answer } = await unlessAborted(request, signal)
      return readAnswer(shape, statusCode, await answer.text())
    } catch (error) {
      if (ends?.aborted === true) return notWaitedFor
      return unknown(`no response: ${errorName(error)}`)
    }
  }

  return {
    provider: (ends) => providerOf((shape, request) => call(shape, request, ends)),
    close: () => pool.destroy(),
  }
}

type MakeCall = <Shape extends z.ZodType>(shape: Shape, call: Call) => Promise<Answer<z.output<Shape>>>

function providerOf(call: MakeCall): Provider {
  const post = <Shape extends z.ZodType>(shape: Shape, path: string, key: string, body: string) =>
    call(shape, { method: 'POST', path, key, body })
  return {
    create: (paymentId, body) => post(paymentShape, '/payments', paymentId, body),
    get: (id) => call(paymentShape, { method: 'GET', path: `/payments/${encodeURIComponent(id)}` }),
    list: (from, to, itemsMax) =>
      listAll<FetchedPayment>(call, paymentShape, '/payments', madeWithin(from, to), itemsMax),
    capture: ({ providerId, paymentId }) =>
      post(paymentShape, `/payments/${encodeURIComponent(providerId)}/capture`, `${paymentId}-capture`, '{}'),
    cancel: ({ providerId, paymentId }) =>
      post(paymentShape, `/payments/${encodeURIComponent(providerId)}/cancel`, `${paymentId}-cancel`, '{}'),
    refund: (refundId, body) => post(refundShape, '/refunds', refundId, body),
    getRefund: (id) => call(refundShape, { method: 'GET', path: `/refunds/${encodeURIComponent(id)}` }),
    listRefundsMade: (from, to, itemsMax) =>
      listAll<FetchedRefund>(call, refundShape, '/refunds', madeWithin(from, to), itemsMax),
    listRefunds: (id) =>
      listAll<FetchedRefund>(call, refundShape, '/refunds', { payment_id: id }, listItemsMax),
  }
}

/** A list with more than `itemsMax` items is `unknown` as a whole, never cut. */
async function listAll<Item>(
  call: MakeCall,
  shape: z.ZodType<Item>,
  path: string,
  query: Readonly<Record<string, string>>,
  itemsMax: number,
): Promise<Answer<Listed<Item>>> {
  const items: Item[] = []
  const unreadable: Unreadable[] = []
  let cursor: string | undefined
  for (let page = 0; page < itemsMax / pageSize; page++) {
    const search = new URLSearchParams({
      ...query,
      limit: String(pageSize),
      ...(cursor === undefined ? {} : { cursor }),
    })
    const answer = await call(listShape, { method: 'GET', path: `${path}?${search}` })
    if (answer.kind !== 'answered') return answer
    for (const item of answer.value.items) {
      const read = shape.safeParse(item)
      const outline = read.success ? undefined : outlineShape.safeParse(item)
      if (outline?.success === false) return unknown(otherShape)
      if (read.success) items.push(read.data)
      else if (outline?.data.hasMoved === true) unreadable.push(outline.data)
    }
    cursor = answer.value.next_cursor
    if (cursor === undefined) return { kind: 'answered', value: { items, unreadable } }
  }
  return unknown(listTooLong)
}

function madeWithin(from: Date, to: Date) {
  return { 'created_at.gte': from.toISOString(), 'created_at.lte': to.toISOString() }
}

/** Parses a response. Pure. */
export function readAnswer<Shape extends z.ZodType>(
  shape: Shape,
  status: number,
  text: string,
): Answer<z.output<Shape>> {
  const json = findJson(text)
  switch (meaningOf(status)) {
    case 'answered': {
      const read = shape.safeParse(json)
      if (read.success) return { kind: 'answered', value: read.data }
      const { data: outline } = outlineShape.safeParse(json)
      return { ...unknown(otherShape), ...(outline?.hasMoved === true ? { unreadable: outline } : {}) }
    }
    case 'in_progress': {
      const { data } = processingShape.safeParse(json)
      const retryAfterMs = Math.min(Math.max(data?.retry_after ?? repeatMs, 1), retryAfterMsMax)
      return { kind: 'unknown', why: 'in progress', retryAfterMs }
    }
    case 'refused': {
      const { data: error } = errorShape.safeParse(json)
      // Without a code, the response does not come from the provider.
      return error === undefined
        ? unknown(`status ${status} without an error code`)
        : { kind: 'refused', code: error.code }
    }
    case 'unknown':
      return unknown(`status ${status}`)
  }
}

/** A user's wait timed out, not the provider. A worker retries immediately, with the same key. */
const notWaitedFor = { kind: 'unknown', why: 'no response while a user waited', retryAfterMs: 0 } as const

const otherShape = 'a response in an unknown format'

function unknown(why: string): { kind: 'unknown'; why: string; retryAfterMs: number } {
  return { kind: 'unknown', why, retryAfterMs: repeatMs }
}
