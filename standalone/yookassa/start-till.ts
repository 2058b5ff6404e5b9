import Fastify, { type FastifyInstance } from 'fastify'
import { listeningPort } from '#cabinet/process/listening-port'
import type { Journal } from './control-contracts.ts'
import { addApiRoutes } from './internal/api-routes.ts'
import { createBooks } from './internal/books.ts'
import { createClock } from './internal/clock.ts'
import { addControlRoutes } from './internal/control-routes.ts'
import { createFaults } from './internal/faults.ts'
import { createIdempotence } from './internal/idempotence.ts'
import { createNotifier } from './internal/notifier.ts'
import { addPageRoutes } from './internal/page-routes.ts'
import { type Entry, openStateFile } from './internal/state-file.ts'

export type TillOptions = {
  /** To listen at; default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any that is free. */
  readonly port?: number
  /** Where a browser reaches it, without a slash at the end; default: where it listens. */
  readonly publicUrl?: string
  /** The one shop that it serves, and the key of that shop. */
  readonly shopId: string
  readonly secretKey: string
  /** Payments of a test shop say `test: true`; default true. */
  readonly isTestShop?: boolean
  /** Whether each payment needs a receipt of 54-FZ; default optional. What is sent is checked in any case. */
  readonly receipts?: 'required' | 'optional'
  /** Where notifications go; default: nowhere, until `PATCH /till/settings`. */
  readonly notifyUrl?: string
  /** The address of this machine that they come from, such as 127.0.0.2; default: whichever the system takes. */
  readonly notifyFrom?: string
  /** A file that keeps what happened for the next start; default: none. */
  readonly stateFile?: string
}

export type Till = {
  /** Of its pages, and of `/till/…` (`control-contracts.ts`). */
  readonly url: string
  /** Of the provider's API, ending with `/v3`. */
  readonly apiUrl: string
  /** Cuts off whoever waits for an answer. */
  stop(): Promise<void>
}

const requestsKept = 10_000
/** `setTimeout` cannot wait for longer than 2^31 ms. */
const napMsMax = 60 * 60_000
/** Names by which this machine asks for it. Any other may be a stranger's that was made to point here. */
const localNames = ['localhost', '127.0.0.1', '[::1]']

/**
 * A server with YooKassa's HTTP contract, for a shop that takes no real money.
 *
 * @throws Error when it cannot listen or cannot use the file
 */
export async function startTill(options: TillOptions): Promise<Till> {
  const { host = '127.0.0.1', port = 0, secretKey, receipts = 'optional' } = options
  const app = Fastify({ logger: false, forceCloseConnections: true, return503OnClosing: false })
  const urlOf = () => `http://${host.includes(':') ? `[${host}]` : host}:${listeningPort(app.server)}`
  const parts = createParts(options, () => options.publicUrl ?? urlOf())
  const { shop, books, notifier, faults, idempotence, clock, alarm, requests } = parts
  takeBodiesAsText(app)
  app.addHook('onRequest', async ({ url, hostname }, reply) => {
    const isKnown = [...localNames, new URL(shop.publicUrl()).hostname].includes(hostname)
    if (!url.startsWith('/v3/') && !isKnown) return reply.code(404).send()
  })
  addApiRoutes(app, {
    ...{ shop, secretKey, receipts, books, idempotence, faults, now: clock.now },
    note: (request) => {
      if (requests.push(request) > requestsKept) requests.shift()
    },
  })
  addPageRoutes(app, { books, shop, wake: alarm.wake })
  addControlRoutes(app, { books, notifier, faults, clock, requests: () => requests, wake: alarm.wake })
  await app.listen({ host, port })
  alarm.wake()
  const url = urlOf()
  return {
    url,
    apiUrl: `${url}/v3`,
    async stop() {
      alarm.stop()
      await notifier.stop()
      await app.close()
    },
  }
}

/** Whatever keeps and does the till's work, before there is a server. */
function createParts(options: TillOptions, publicUrl: () => string) {
  const { shopId, isTestShop = true, notifyUrl, notifyFrom, stateFile } = options
  const file = openStateFile(stateFile)
  const clock = createClock()
  const shop = { shopId, isTest: isTestShop, publicUrl }
  const requests: Journal['requests'][number][] = []
  const record = (entry: Entry) => {
    file.append(entry)
    alarm.wake()
  }
  const notifier = createNotifier({
    ...{ now: clock.now, notifyUrl, notifyFrom },
    record: (notification) => record({ notification }),
  })
  const books = createBooks({ shop, now: clock.now, notify: notifier.notify, record })
  const idempotence = createIdempotence((answer) => record({ answer }))
  const alarm = createAlarm(clock.now, {
    nextMs: () => Math.min(books.nextExpiryMs() ?? Infinity, notifier.nextDueAtMs() ?? Infinity),
    ring() {
      books.cancelExpired()
      notifier.sendDue()
    },
  })
  for (const entry of file.entries) {
    if ('payment' in entry) books.putPayment(entry.payment)
    else if ('refund' in entry) books.putRefund(entry.refund)
    else if ('answer' in entry) idempotence.restore(entry.answer)
    else notifier.restore(entry.notification)
  }
  return { shop, books, notifier, idempotence, faults: createFaults(), clock, alarm, requests }
}

type Due = {
  /** When there is something to do next, by the till's clock. */
  readonly nextMs: () => number
  readonly ring: () => void
}

/** Rings soon after `wake`, and whenever something is due. */
function createAlarm(now: () => number, { nextMs, ring }: Due) {
  let timer: NodeJS.Timeout | undefined
  let isAwake = false
  let hasStopped = false

  function work(): void {
    isAwake = false
    if (hasStopped) return
    ring()
    clearTimeout(timer)
    const napMs = Math.min(Math.max(nextMs() - now(), 1), napMsMax)
    timer = setTimeout(work, napMs)
  }

  return {
    wake(): void {
      if (isAwake || hasStopped) return
      isAwake = true
      setImmediate(work)
    },
    stop(): void {
      hasStopped = true
      clearTimeout(timer)
    },
  }
}

/** Each route reads its own body; what has another type is refused with 415. */
function takeBodiesAsText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  for (const type of ['application/json', 'application/x-www-form-urlencoded'])
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
}
