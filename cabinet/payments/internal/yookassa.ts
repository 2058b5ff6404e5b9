import { Pool } from 'undici'
import type { z } from 'zod'
import { errorName } from '../../process/error-name.ts'
import { findJson } from '../../process/json.ts'
import {
  type Answer,
  type FetchedPayment,
  type FetchedRefund,
  type Listed,
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

/** For the whole answer. The provider gives itself 30 s, and then says that it does not know. */
const timeoutMs = 32_000
const answerBytesMax = 2 * 1024 * 1024
const connectionsMax = 16
/** "Once a minute, until the answer is another one than 500". */
const repeatMs = 60_000
/** Far below the day after which a call is searched for instead. */
const retryAfterMsMax = 3_600_000
const pageSize = 100
/** Of one list: 10,000 items. One that has more is unknown as a whole, never cut. */
const pagesMax = 100

type Meaning = 'answered' | 'in_progress' | 'unknown' | 'refused'

/** Statuses that say nothing of the request itself: a wrong key, too many requests, something in between. */
const notOfTheRequest = new Set([401, 403, 408, 429])

/** What a status means; the provider's rules, and ours where it has none. */
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
  /** @param ends every call then, its outcome unknown; `undefined`: each when the provider has had its time */
  readonly provider: (ends?: AbortSignal) => Provider
  readonly close: () => Promise<void>
}

/** YooKassa's API v3. Its credentials are in one header and nowhere else; follows no redirect. */
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
      const { statusCode, body: answer } = await pool.request({
        ...{ method, path: `${prefix}${path}`, signal },
        ...(body === undefined ? {} : { body }),
        headers: {
          ...{ authorization, accept: 'application/json' },
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotence-key': key }),
        },
      })
      return readAnswer(shape, statusCode, await answer.text())
    } catch (error) {
      if (ends?.aborted === true) return notWaitedFor
      return unknown(`no answer: ${errorName(error)}`)
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
    list: (from, to) => listAll<FetchedPayment>(call, paymentShape, '/payments', madeWithin(from, to)),
    capture: ({ providerId, paymentId }) =>
      post(paymentShape, `/payments/${encodeURIComponent(providerId)}/capture`, `${paymentId}-capture`, '{}'),
    cancel: ({ providerId, paymentId }) =>
      post(paymentShape, `/payments/${encodeURIComponent(providerId)}/cancel`, `${paymentId}-cancel`, '{}'),
    refund: (refundId, body) => post(refundShape, '/refunds', refundId, body),
    getRefund: (id) => call(refundShape, { method: 'GET', path: `/refunds/${encodeURIComponent(id)}` }),
    listRefundsMade: (from, to) =>
      listAll<FetchedRefund>(call, refundShape, '/refunds', madeWithin(from, to)),
    listRefunds: (id) => listAll<FetchedRefund>(call, refundShape, '/refunds', { payment_id: id }),
  }
}

async function listAll<Item>(
  call: MakeCall,
  shape: z.ZodType<Item>,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Answer<Listed<Item>>> {
  const items: Item[] = []
  const unreadable: Unreadable[] = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
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

/** What an answer says. Pure. */
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
      // Without a code it is not the provider who speaks.
      return error === undefined
        ? unknown(`status ${status} without an error code`)
        : { kind: 'refused', code: error.code }
    }
    case 'unknown':
      return unknown(`status ${status}`)
  }
}

/** Not the provider's time is over but somebody's: a worker goes on at once, with the same key. */
const notWaitedFor = { kind: 'unknown', why: 'no answer while somebody waited', retryAfterMs: 0 } as const

const otherShape = 'an answer of another shape'

function unknown(why: string): { kind: 'unknown'; why: string; retryAfterMs: number } {
  return { kind: 'unknown', why, retryAfterMs: repeatMs }
}
