import { Redis, ReplyError } from 'ioredis'
import { createAnswerWaits } from './answer-waits.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { type ScriptCall, sendScriptCall } from './script-call.ts'

/** Longest wait for one answer, milliseconds: `architecture.md` promises a 503 within 100 ms. */
const answerTimeoutMs = 100
/** A socket that says nothing for so long after a command is dropped and opened anew. */
const silentSocketMs = 3_000
const connectTimeoutMs = 2_000
const reconnectDelayMsMax = 500
/** Time-outs in a row after which callers are answered at once, and how often one call probes then. */
const timeoutsMax = 5
const probeMs = 250

/** First words of errors that say "not now", whatever the command was. */
const outageWords =
  /^(LOADING|OOM|READONLY|MASTERDOWN|MISCONF|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNKILLABLE)\b/

/** Redis did not answer in time, is not connected, or cannot serve now. */
export class RedisUnavailable extends Error {
  readonly code = 'REDIS_UNAVAILABLE'
  /** `no`: the command was not sent, or Redis refused it before it did anything. */
  readonly mayHaveRun: 'yes' | 'no'
  constructor(cause: unknown, mayHaveRun: 'yes' | 'no' = 'yes') {
    super('Redis is not available', { cause })
    this.name = 'RedisUnavailable'
    this.mayHaveRun = mayHaveRun
  }
}

/** A library of Lua functions, which Redis keeps and replicates by its name (Redis 7, Valkey). */
export type Library = { readonly name: string; readonly source: string }

/** One function of a library; one that declares `no-writes` runs on read-only commands. */
export type Script = {
  readonly library: Library
  /** What people call it. */
  readonly label: string
  /** In Redis, where all libraries share their names. */
  readonly name: string
  readonly writes: 'yes' | 'no'
}

/** Hears how each script ended, and after how many milliseconds: a caller waited so long for it. */
export type OnScript = (script: Script, end: 'answered' | 'failed', ms: number) => void

/** One connection to the Redis of shards and catalogue. */
export type RedisConnection = {
  /** The client itself, for subscriptions (`redis.duplicate()`) and events; commands belong into `ask`. */
  readonly redis: Redis
  /** The server's run id as read on *this* connection; `undefined` until it is known, and while disconnected. */
  runId(): string | undefined
  /** Whether Redis has stopped to answer, so that nothing but a probe now and then is sent. */
  circuitIsOpen(): boolean
  /** Grows with each connection made. Another number than before: Redis may have lost what it acknowledged. */
  generation(): number
  /** Resolves once connected and the run id is known, or throws `RedisUnavailable` after `timeoutMs`. */
  connected(timeoutMs: number): Promise<void>
  /** Sends plain commands. @throws RedisUnavailable, within the connection's time-out. */
  ask<Answer>(send: (redis: Redis) => Promise<Answer>): Promise<Answer>
  /**
   * Runs a script, loading its library only where Redis does not know it, and answers what `read` makes of its reply.
   *
   * @throws RedisUnavailable, and whatever `read` throws.
   */
  run<Answer>(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    read: (reply: unknown) => Answer,
  ): Promise<Answer>
  /** Closes at once; what waits for an answer throws `RedisUnavailable`. */
  close(): void
}

/**
 * Connects to Redis or Valkey and stays connected: nothing is queued while it is away, nothing is sent twice.
 *
 * @param options.name shown by `CLIENT LIST`.
 * @param options.timeoutMs longest wait for an answer; 100 ms unless said.
 * @param options.onError hears of each connection error (a log line); never of commands' errors.
 * @param options.onScript hears of each script.
 */
export function connectRedis(
  url: string,
  options: {
    readonly name: string
    readonly timeoutMs?: number
    readonly onError?: (error: Error) => void
    readonly onScript?: OnScript
  },
): RedisConnection {
  const { onScript } = options
  const redis = new Redis(url, {
    connectionName: options.name,
    connectTimeout: connectTimeoutMs,
    socketTimeout: Math.max(silentSocketMs, 2 * (options.timeoutMs ?? answerTimeoutMs)),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(reconnectDelayMsMax, 10 * 2 ** Math.min(attempt, 10)),
    // A primary that became a replica: leave it, the name resolves to another one soon.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  redis.on('error', (error: Error) => options.onError?.(error))

  const gather = gatherWrites(redis)
  const breaker = createCircuitBreaker({ timeoutsMax, probeMs, now: () => performance.now() })
  const timeoutMs = options.timeoutMs ?? answerTimeoutMs
  const waits = createAnswerWaits(timeoutMs)
  // One promise and no timer of its own: every request of the gateway comes here twice.
  function ask<Reply, Answer>({ send, read, onEnd }: Question<Reply, Answer>): Promise<Answer> {
    if (!breaker.mayCall()) {
      onEnd?.('failed', 0)
      return Promise.reject(new RedisUnavailable('circuit open', 'no'))
    }
    // Alone, it is sent at once: Redis works while the caller goes on.
    if (waits.count() > 0) gather()
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        onEnd?.('failed', performance.now() - wait.startedAtMs)
        reject(error)
      }
      const wait = waits.start(() => {
        breaker.timedOut()
        fail(new RedisUnavailable(new Error(`no answer within ${timeoutMs} ms`)))
      })
      send(
        (reply) => {
          if (wait.end() === 'late') return
          breaker.answered()
          onEnd?.('answered', performance.now() - wait.startedAtMs)
          try {
            resolve(read(reply))
          } catch (error) {
            reject(error)
          }
        },
        (error) => {
          if (wait.end() === 'late') return
          if (isAnswer(error)) breaker.answered()
          fail(meaningOf(error))
        },
      )
    })
  }
  const server = followServer(redis)
  return {
    redis,
    ...server,
    circuitIsOpen: breaker.isOpen,
    ask: <Answer>(send: (redis: Redis) => Promise<Answer>) =>
      ask<Answer, Answer>({
        send: (onReply, onError) => void send(redis).then(onReply, onError),
        read: (answer) => answer,
        onEnd: undefined,
      }),
    run: (script, keys, args, read) =>
      ask({
        send: (onReply, onError) => call(redis, script, { keys, args, onReply, onError }),
        read,
        onEnd: onScript && ((end, ms) => onScript(script, end, ms)),
      }),
    close: () => redis.disconnect(),
  }
}

/**
 * Sends in one write what is asked within one turn of the event loop: a fifth of a busy gateway's CPU.
 *
 * Not ioredis's own pipelining: when the connection breaks, that leaves a rejection behind which nobody can handle
 * and which ends the process.
 */
function gatherWrites(redis: Redis): () => void {
  let gathering: Redis['stream'] | undefined
  return () => {
    if (gathering !== undefined || redis.status !== 'ready') return
    const { stream } = redis
    gathering = stream
    stream.cork()
    setImmediate(() => {
      gathering = undefined
      stream.uncork()
    })
  }
}

/** Knows which server run the present connection talks to. */
function followServer(redis: Redis): Pick<RedisConnection, 'runId' | 'generation' | 'connected'> {
  let generation = 0
  let runId: string | undefined
  redis.on('close', () => {
    runId = undefined
  })
  redis.on('ready', () => {
    const mine = ++generation
    runId = undefined
    redis.info('server').then(
      (info) => {
        if (mine === generation) runId = /^run_id:(\w+)/m.exec(info)?.[1]
        redis.emit('run-id')
      },
      // Without a run id nothing is admitted: a new connection asks again.
      () => redis.disconnect(true),
    )
  })
  return {
    runId: () => (redis.status === 'ready' ? runId : undefined),
    generation: () => generation,
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

/** Something that Redis is asked. */
type Question<Reply, Answer> = {
  readonly send: (onReply: (reply: Reply) => void, onError: (error: unknown) => void) => void
  /** What a reply means; what it throws is a bug and no outage. */
  readonly read: (reply: Reply) => Answer
  readonly onEnd: ((end: 'answered' | 'failed', ms: number) => void) | undefined
}

type Call = Pick<ScriptCall, 'keys' | 'args' | 'onReply'> & { readonly onError: (error: unknown) => void }

function call(redis: Redis, { library, name, writes }: Script, { onError, ...rest }: Call): void {
  const send = (onError: (error: unknown) => void) =>
    sendScriptCall(redis, { name, writes, ...rest, onError })
  send((error) => {
    if (says(error, 'Function not found')) load(redis, library).then(() => send(onError), onError)
    else onError(error)
  })
}

async function load(redis: Redis, { source }: Library): Promise<void> {
  try {
    await redis.function('LOAD', source)
  } catch (error) {
    if (!says(error, 'already exists')) throw error // somebody else was faster
  }
}

function says(error: unknown, words: string): boolean {
  return error instanceof Error && error.message.includes(words)
}

/** An outage as `RedisUnavailable`; an error that Redis *answered* (a bug in a script) as it is. */
function meaningOf(error: unknown): unknown {
  if (!isAnswer(error)) return new RedisUnavailable(error)
  return outageWords.test(error.message) ? new RedisUnavailable(error, 'no') : error
}

/** Whether Redis itself said the error, so that it is alive. */
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && error instanceof ReplyError
}
