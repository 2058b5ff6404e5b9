import Fastify, { type FastifyInstance } from 'fastify'
import { listeningPort } from '#core/process/listening-port'
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
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  /** Its URL for browsers, without a trailing slash. Default: the address that it listens on. */
  readonly publicUrl?: string
  /** Its only shop, and the shop's key. */
  readonly shopId: string
  readonly secretKey: string
  /** Payments of a test shop have `test: true`; default true. */
  readonly isTestShop?: boolean
  /** Whether the shop may save and charge cards, as test shops may; default true. */
  readonly savesCards?: boolean
  /** Whether each payment needs a 54-FZ receipt; default optional. Receipts are always validated. */
  readonly receipts?: 'required' | 'optional'
  /** The webhook URL. Default: none, until `PATCH /till/settings`. */
  readonly notifyUrl?: string
  /** The local address that notifications are sent from, such as 127.0.0.2. Default: chosen by the system. */
  readonly notifyFrom?: string
  /** A file that keeps the state for the next start; default: none. */
  readonly stateFile?: string
}

export type Till = {
  /** URL of its pages and of `/till/…` (`control-contracts.ts`). */
  readonly url: string
  /** URL of the provider's API, ending with `/v3`. */
  readonly apiUrl: string
  /** Aborts all waiting requests. */
  stop(): Promise<void>
}

const requestsKept = 10_000
/** `setTimeout` cannot wait for longer than 2^31 ms. */
const napMsMax = 60 * 60_000
/** Host names by which this machine calls it. Any other name may be an attacker's that resolves to this machine. */
const localNames = ['localhost', '127.0.0.1', '[::1]']

/**
 * A test payment provider with YooKassa's HTTP API, for a shop that takes no real money.
 *
 * @throws Error when it cannot listen or cannot use the file
 */
export async function startTill(options: TillOptions): Promise<Till> {
  const { host = '127.0.0.1', port = 0, secretKey, receipts = 'optional', savesCards = true } = options
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
    shop,
    secretKey,
    savesCards,
    receipts,
    books,
    idempotence,
    faults,
    now: clock.now,
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

/** The state and the timers, which exist before there is a server. */
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
    now: clock.now,
    notifyUrl,
    notifyFrom,
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
  /** The time of the next work, by the test payment provider's clock. */
  readonly nextMs: () => number
  readonly ring: () => void
}

/** Calls `ring` soon after `wake`, and whenever work is due. */
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

/** Each route parses its own body. Other media types get 415. */
function takeBodiesAsText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  for (const type of ['application/json', 'application/x-www-form-urlencoded'])
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
}
