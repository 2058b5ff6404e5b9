import { Redis, ReplyError } from 'ioredis'
import { type AnswerWaits, createAnswerWaits, type Wait } from './internal/answer-waits.ts'
import { createCallLanes, type Place } from './internal/call-lanes.ts'
import { type CircuitBreaker, createCircuitBreaker, type OnCircuit } from './internal/circuit-breaker.ts'
import { type Lane, type Script, sendScriptCall } from './script-call.ts'
import type { Shard } from './shard.ts'

/** Longest wait for one answer: clients are promised a 503 within about 100 ms, or 200 ms of a process that is short of processor. */
const answerTimeoutMs = 100
/** A socket that stays silent for this long after a command is closed and opened again. */
const silentSocketMs = 3_000
const connectTimeoutMs = 2_000
const reconnectDelayMsMax = 500
/** Time-outs in a row that open the circuit, and how often one call probes while it is open. */
const timeoutsMax = 5
const probeMs = 250

/** First words of errors that mean "not now", whatever the command was. */
const outageWords =
  /^(LOADING|OOM|READONLY|MASTERDOWN|MISCONF|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNKILLABLE|MOVED|ASK)\b/
/** Those of a cluster whose slots are elsewhere now; `MOVED` is the reply of a server that has handed one over. */
const movedWords = /^(CLUSTERDOWN|MOVED|ASK)\b/

/** Redis did not respond in time, is not connected, or cannot serve now. */
export class RedisUnavailable extends Error {
  /** `no`: the command was not sent, or Redis rejected it before it did anything. */
  readonly mayHaveRun: 'yes' | 'no'
  constructor(cause: unknown, mayHaveRun: 'yes' | 'no' = 'yes') {
    super('Redis is unavailable', { cause })
    this.name = 'RedisUnavailable'
    this.mayHaveRun = mayHaveRun
  }
}

/** Hears how each script ended, and after how many milliseconds: a caller waited so long for it. */
export type OnScript = (script: Script, end: 'answered' | 'failed', ms: number) => void

/** The Redis of the shards and the catalog: one server, or the primaries of a cluster. */
export type RedisServers = {
  /**
   * The connection to the server that has a shard now: another one after a failover or a move, so ask for each call. If no
   * server is known to have it, every call on it throws `RedisUnavailable`.
   */
  connectionOf(shard: Shard): RedisConnection
  /** The same for the names outside the shards (`common-name.ts`). */
  common(): RedisConnection
  /** A connection to each server that has any of these. */
  servers(): readonly RedisConnection[]
  /** A connection to each primary, also to those that have none of these yet. */
  primaries(): readonly RedisConnection[]
  /**
   * Run id of the server that this process saw have the shard right before the present one. It still runs and leaves the
   * shard to that one, so its epoch is whole: it has handed it over, and lost nothing. `undefined`: the shard must be loaded,
   * also if this process only just started.
   */
  yieldedBy(shard: Shard): string | undefined
  /** Whether its server handed it over within the last second, so that another one serves it soon. */
  isMoving(shard: Shard): boolean
  /** `cluster`: the names of one command must have one hash tag, even on one server. */
  kind(): 'single' | 'cluster'
  /** Resolves once connected and the run id is known of each server, or throws `RedisUnavailable` after `timeoutMs`. */
  connected(timeoutMs: number): Promise<void>
  /** Closes at once; what waits for an answer throws `RedisUnavailable`. */
  close(): void
}

/** One connection to one server: all of `RedisServers`, where there is no other. */
export type RedisConnection = RedisServers & {
  /** The client itself, for subscriptions (`redis.duplicate()`) and events. Send commands through `ask`. */
  readonly redis: Redis
  /** The server's run id as read on *this* connection; `undefined` until it is known, and while disconnected. */
  runId(): string | undefined
  /** Whether Redis has stopped answering, so that only an occasional probe is sent. */
  circuitIsOpen(): boolean
  /**
   * Grows with each new connection, and no two connections of this process share one. When it changes, Redis may have lost
   * what it acknowledged.
   */
  connectionNumber(): number
  /** Sends plain commands. @throws RedisUnavailable, within the connection's time-out. */
  ask<Answer>(send: (redis: Redis) => Promise<Answer>): Promise<Answer>
  /**
   * Runs a script, loading its library only if Redis does not have it, and returns the result of `read` for
   * its reply.
   *
   * @throws RedisUnavailable, and any error of `read`.
   */
  run<Answer>(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: unknown) => Answer,
  ): Promise<Answer>
  /**
   * As `run`, for a script that takes several calls at once. Calls made while one of the same lane is under way are
   * sent as one, in order. Each has its own reply, error and time limit, which begins now.
   *
   * @param unless returns an answer if the call is not wanted anymore: then it is not sent. Asked right before that.
   */
  runInLane<Answer>(
    lane: Lane,
    args: readonly (string | number)[],
    read: (reply: unknown) => Answer,
    unless?: Unless<Answer>,
  ): Promise<Answer>
}

/** The answer to a call that is not wanted anymore; `undefined` as long as it is. */
export type Unless<Answer> = () => Answer | undefined

/** Settings of connections, and what hears of them. `server` is host and port. */
export type RedisOptions = {
  /** Shown by `CLIENT LIST`. */
  readonly name: string
  /** Longest wait for a reply; default 100 ms. As long again, once, if this process was delayed. */
  readonly timeoutMs?: number
  /** Called with each connection error (a log line); never with commands' errors. */
  readonly onError?: (error: Error, server: string) => void
  /** Called with each new connection. */
  readonly onReady?: (server: string) => void
  /** Called after each script. */
  readonly onScript?: OnScript
  /** Called when a server stops responding, and when it responds again. */
  readonly onCircuit?: (state: 'open' | 'closed', server: string) => void
}

/**
 * Connects to Redis or Valkey and stays connected. Nothing is queued during an outage, and nothing is sent
 * twice.
 *
 * @param heard.onKind called with each new connection, before its run id is known: whether the server is one of a cluster.
 * @param heard.onMoved called when a server replies that it does not have what it was asked for, with the first word of the
 * reply.
 */
export function connectRedis(
  url: string,
  options: RedisOptions,
  heard: {
    readonly onKind?: (kind: 'single' | 'cluster') => void
    readonly onMoved?: (reply: string) => void
  } = {},
): RedisConnection {
  const { onScript } = options
  const server = serverOf(url)
  const redis = openClient(url, options, server)
  const gather = gatherWrites(redis, () => scripts.endTurn())
  const now = () => performance.now()
  const onChange: OnCircuit = (state) => options.onCircuit?.(state, server)
  const breaker = createCircuitBreaker({ timeoutsMax, probeMs, now, onChange })
  const timeoutMs = options.timeoutMs ?? answerTimeoutMs
  const waits = createAnswerWaits(timeoutMs)
  const connected = { breaker, waits, timeoutMs, onScript, onMoved: heard.onMoved }

  /** Why nothing may be sent now, or `undefined`. */
  function refuse(script?: Script): RedisUnavailable | undefined {
    if (script?.sent === 'always' || breaker.mayCall()) return undefined
    if (script !== undefined) onScript?.(script, 'failed', 0)
    return new RedisUnavailable('the circuit is open', 'no')
  }

  /** Call it once per question, just before it is sent. */
  function begin<Reply, Answer>(question: Question<Reply, Answer>): Asking<Reply, Answer> {
    // A lone question is sent at once, so that Redis works while the caller continues.
    if (waits.count() > 0) gather()
    return new Asking(question, connected)
  }

  const scripts = createScriptCalls(redis, { refuse, begin, gather, connected })

  let kind: 'single' | 'cluster' = 'single'
  const onKind = (found: typeof kind) => {
    kind = found
    heard.onKind?.(found)
  }
  const connection: RedisConnection = {
    redis,
    ...followServer(redis, onKind),
    connectionOf: () => connection,
    common: () => connection,
    servers: () => [connection],
    primaries: () => [connection],
    yieldedBy: () => undefined,
    isMoving: () => false,
    kind: () => kind,
    circuitIsOpen: breaker.isOpen,
    ask: <Answer>(send: (redis: Redis) => Promise<Answer>) => {
      const refused = refuse()
      if (refused !== undefined) return Promise.reject(refused)
      return new Promise<Answer>((resolve, reject) => {
        const asking = begin({ script: undefined, read: (answer: Answer) => answer, resolve, reject })
        send(redis).then(
          (answer) => asking.onReply(answer),
          (error) => asking.onError(error),
        )
      })
    },
    run: scripts.run,
    runInLane: scripts.runInLane,
    close: () => redis.disconnect(),
  }
  return connection
}

/** How scripts are called. `endTurn`: to be called at the end of a turn whose writes `gather` collects. */
function createScriptCalls(
  redis: Redis,
  deps: {
    readonly refuse: (script: Script) => RedisUnavailable | undefined
    readonly begin: <Reply, Answer>(question: Question<Reply, Answer>) => Asking<Reply, Answer>
    readonly gather: () => boolean
    readonly connected: Connected
  },
): Pick<RedisConnection, 'run' | 'runInLane'> & { endTurn(): void } {
  const { refuse, begin, gather, connected } = deps
  const othersWait = () => connected.waits.count() > 1
  const lanes = createCallLanes({
    isAnswer,
    gathers: () => othersWait() && gather(),
    send(call, hearer) {
      if (othersWait()) gather()
      sendScriptCall(redis, call, hearer)
    },
  })
  return {
    endTurn: lanes.endTurn,
    // One promise and no timer per call: every request of the gateway comes here twice.
    run(script, keys, args, read) {
      const refused = refuse(script)
      if (refused !== undefined) return Promise.reject(refused)
      return new Promise((resolve, reject) =>
        sendScriptCall(redis, { script, keys, args }, begin({ script, read, resolve, reject })),
      )
    },
    runInLane(lane, args, read, unless) {
      const { script } = lane
      const refused = refuse(script)
      if (refused !== undefined) return Promise.reject(refused)
      return new Promise((resolve, reject) => {
        const asking = new Asking({ script, read, unless, resolve, reject }, connected)
        asking.place = lanes.call(lane, args, asking)
      })
    },
  }
}

/** A client that queues nothing and resends nothing. */
function openClient(url: string, options: RedisOptions, server: string): Redis {
  const redis = new Redis(url, {
    connectionName: options.name,
    connectTimeout: connectTimeoutMs,
    socketTimeout: Math.max(silentSocketMs, 2 * (options.timeoutMs ?? answerTimeoutMs)),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(reconnectDelayMsMax, 10 * 2 ** Math.min(attempt, 10)),
    // A primary that became a replica: reconnect, the name will resolve to another one soon.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  redis.on('error', (error: Error) => options.onError?.(error, server))
  redis.on('ready', () => options.onReady?.(server))
  return redis
}

/** Host and port of a Redis URL. */
export function serverOf(url: string): string {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port || redisPort}`
}

/** The same URL, with the same user and protocol, of another server. */
export function urlAt(url: string, server: string): string {
  const other = new URL(url)
  const colon = server.lastIndexOf(':')
  other.hostname = server.slice(0, colon)
  other.port = server.slice(colon + 1)
  return other.href
}

/** The port of a Redis URL that has none. */
const redisPort = 6379

/** Connections of this process so far. */
let connectionCount = 0

/**
 * Sends all commands of one turn of the event loop in one write. Saves a fifth of a busy gateway's CPU.
 *
 * Answers whether it does so now; `endTurn` may add to it.
 *
 * Not ioredis's own pipelining: when the connection breaks, that leaves a rejection behind which no code can
 * handle and which ends the process.
 */
function gatherWrites(redis: Redis, endTurn: () => void): () => boolean {
  let gathering: Redis['stream'] | undefined
  return () => {
    if (redis.status !== 'ready') return false
    if (gathering !== undefined) return true
    const { stream } = redis
    gathering = stream
    stream.cork()
    setImmediate(() => {
      endTurn()
      gathering = undefined
      stream.uncork()
    })
    return true
  }
}

/** Tracks which server run the current connection talks to. */
function followServer(
  redis: Redis,
  onKind: (kind: 'single' | 'cluster') => void,
): Pick<RedisConnection, 'runId' | 'connectionNumber' | 'connected'> {
  let connectionNumber = 0
  let runId: string | undefined
  redis.on('close', () => {
    runId = undefined
  })
  redis.on('ready', () => {
    connectionCount += 1
    const mine = connectionCount
    connectionNumber = mine
    runId = undefined
    redis.info('server', 'cluster').then(
      (info) => {
        if (mine !== connectionNumber) return
        runId = /^run_id:(\w+)/m.exec(info)?.[1]
        onKind(/^cluster_enabled:1/m.test(info) ? 'cluster' : 'single')
        redis.emit('run-id')
      },
      // Without a run id nothing is admitted; a new connection asks again.
      () => redis.disconnect(true),
    )
  })
  return {
    runId: () => (redis.status === 'ready' ? runId : undefined),
    connectionNumber: () => connectionNumber,
    connected: (timeoutMs) =>
      new Promise((resolve, reject) => {
        if (runId !== undefined) return resolve()
        const timer = setTimeout(() => {
          redis.off('run-id', done)
          reject(new RedisUnavailable(`not connected within ${timeoutMs} ms`))
        }, timeoutMs)
        const done = () => {
          clearTimeout(timer)
          resolve()
        }
        redis.once('run-id', done)
      }),
  }
}

type Question<Reply, Answer> = {
  /** Set when a script was called. */
  readonly script: Script | undefined
  /** Parses a reply. An error that it throws is a bug, not an outage. */
  readonly read: (reply: Reply) => Answer
  readonly unless?: Unless<Answer> | undefined
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

type Connected = {
  readonly breaker: CircuitBreaker
  readonly waits: AnswerWaits
  readonly timeoutMs: number
  readonly onScript: OnScript | undefined
  readonly onMoved: ((reply: string) => void) | undefined
}

/** One question to Redis: receives the reply and passes it to the caller, within the time-out. */
class Asking<Reply, Answer> {
  /** Where it may wait for others to be answered. */
  place: Place | undefined
  readonly #question: Question<Reply, Answer>
  readonly #connected: Connected
  readonly #wait: Wait

  constructor(question: Question<Reply, Answer>, connected: Connected) {
    this.#question = question
    this.#connected = connected
    this.#wait = connected.waits.start(this)
  }

  onReply(reply: Reply): void {
    if (this.#wait.end() === 'late') return
    this.#connected.breaker.answered()
    this.#note('answered')
    const { read, resolve, reject } = this.#question
    try {
      resolve(read(reply))
    } catch (error) {
      reject(error)
    }
  }

  onError(error: unknown): void {
    if (this.#wait.end() === 'late') return
    if (isAnswer(error)) {
      this.#connected.breaker.answered()
      const [reply] = movedWords.exec(error.message) ?? []
      if (reply !== undefined) this.#connected.onMoved?.(reply)
    }
    this.#note('failed')
    this.#question.reject(meaningOf(error))
  }

  onLate(): void {
    const { breaker, timeoutMs } = this.#connected
    breaker.timedOut()
    this.#note('failed')
    const mayHaveRun = this.place?.withdraw() === true ? 'no' : 'yes'
    this.#question.reject(new RedisUnavailable(new Error(`no answer within ${timeoutMs} ms`), mayHaveRun))
  }

  isWanted(): boolean {
    const { unless, resolve } = this.#question
    const answer = unless?.()
    if (answer === undefined) return true
    this.#wait.end()
    resolve(answer)
    return false
  }

  onUnsent(error: unknown): void {
    if (this.#wait.end() === 'late') return
    this.#note('failed')
    this.#question.reject(new RedisUnavailable(error, 'no'))
  }

  #note(end: 'answered' | 'failed'): void {
    const { script } = this.#question
    const { onScript } = this.#connected
    if (script !== undefined) onScript?.(script, end, performance.now() - this.#wait.startedAtMs)
  }
}

/** Turns an outage into `RedisUnavailable`; leaves an error that Redis *answered* (a bug in a script) as it is. */
function meaningOf(error: unknown): unknown {
  if (!isAnswer(error)) return new RedisUnavailable(error)
  return outageWords.test(error.message) ? new RedisUnavailable(error, 'no') : error
}

/** Whether Redis itself returned the error, which means that it is alive. */
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && error instanceof ReplyError
}
