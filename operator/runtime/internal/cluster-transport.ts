import type { KubeConfig } from '@kubernetes/client-node'
import { type Dispatcher, errors, request } from 'undici'
import { unlessAborted } from '#core/process/unless-aborted'
import { type Connections, createClusterSessions, type Session } from './cluster-sessions.ts'

/** The API server cannot be reached or cannot answer now. Worth a retry. */
export class ClusterUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ClusterUnavailable'
  }
}

/** A response has gone silent for too long. A watch may just be quiet. */
export class ClusterSilent extends ClusterUnavailable {}

/** One request. It is never sent twice, except after a 401. */
export type ClusterCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  /** Default: JSON of the whole object. */
  readonly accept?: string
  /** Time for the whole answer. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

type StreamCall = ClusterCall & { readonly idleMs: number; readonly onOpen?: (() => void) | undefined }

export type ClusterAnswer = { readonly status: number; readonly text: string }

/** Sends requests to one API server, with the identity and the certificates of a kubeconfig. */
export type ClusterTransport = {
  /** @throws ClusterUnavailable when no whole answer came in time. */
  send(call: ClusterCall): Promise<ClusterAnswer>
  /**
   * The lines of a streamed response, such as a watch, until the server ends it.
   *
   * @param call.timeoutMs time for the answer to begin.
   * @param call.idleMs longest silence between two lines.
   * @param call.onOpen called when the answer has begun, before any line.
   * @throws ClusterSilent if it goes silent, ClusterUnavailable if it breaks off, RefusedStream if it never began.
   */
  lines(call: StreamCall): AsyncGenerator<string, void, undefined>
  /** Closes all connections and aborts the requests on them. */
  close(): Promise<void>
}

/** A stream was answered with a status other than 200. */
export class RefusedStream extends Error {
  readonly answer: ClusterAnswer

  constructor(answer: ClusterAnswer) {
    super(`the API server answered ${answer.status}`)
    this.name = 'RefusedStream'
    this.answer = answer
  }
}

/** Largest response: a page of 500 objects, most of them a few KiB; etcd stores none above 1.5 MiB. */
const answerBytesMax = 64 * 1024 * 1024
/** Longest line of a watch: one object of 1.5 MiB in etcd, with room for what JSON and the server add. */
const lineLengthMax = 8 * 1024 * 1024

/**
 * Opens nothing before the first request.
 *
 * `onRequest` is called for every response with its status (`'<error>'` if none came) and the method.
 */
export function createClusterTransport(
  kubeConfig: KubeConfig,
  {
    onRequest,
    connections = 'own',
  }: {
    readonly onRequest: (code: string, method: string) => void
    readonly connections?: Connections
  },
): ClusterTransport {
  const server = serverOf(kubeConfig)
  const sessions = createClusterSessions(kubeConfig, connections)

  /** `inTime` aborts while the session opens: a kubeconfig may name a program that provides credentials, and that may hang. */
  async function open(
    call: ClusterCall,
    idleMs: number,
    inTime: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const used = sessions.current()
    try {
      const answer = await openWith(await unlessAborted(used, inTime), call, idleMs)
      if (answer.statusCode !== 401) return answer
      await answer.body.dump()
    } catch (error) {
      // Half open, all requests on it would time out for as long as it is kept.
      if (connections === 'shared') sessions.abandon(used)
      throw error
    }
    // The token was rotated.
    return openWith(await unlessAborted(sessions.after(used), inTime), call, idleMs)
  }

  async function openWith(used: Session, call: ClusterCall, idleMs: number) {
    const answer = ask(server, used, call, idleMs)
    return unlessAborted(answer, call.signal).then(
      (arrived) => {
        onRequest(String(arrived.statusCode), call.method)
        return arrived
      },
      (error: unknown) => {
        onRequest('<error>', call.method)
        throw error
      },
    )
  }

  async function* lines(call: StreamCall) {
    const limit = startLimit(call)
    try {
      const { statusCode, body } = await open(call, call.idleMs, limit.signal).finally(limit.end)
      if (statusCode !== 200) throw new RefusedStream({ status: statusCode, text: await readText(body) })
      call.onOpen?.()
      yield* linesOf(body)
    } catch (error) {
      throw error instanceof RefusedStream ? error : unavailable(error)
    }
  }

  return {
    lines,
    async send(call) {
      const limit = startLimit(call)
      try {
        const { statusCode, body } = await open(
          { ...call, signal: limit.signal },
          call.timeoutMs,
          limit.signal,
        )
        return { status: statusCode, text: await readText(body) }
      } catch (error) {
        throw unavailable(error)
      } finally {
        limit.end()
      }
    },
    async close() {
      sessions.destroy()
    },
  }
}

function serverOf(kubeConfig: KubeConfig): string {
  const cluster = kubeConfig.getCurrentCluster()
  if (cluster === null) throw new Error('The kubeconfig has no current cluster.')
  return cluster.server.replace(/\/+$/, '')
}

function ask(server: string, { headers, dispatcher }: Session, call: ClusterCall, bodyTimeout: number) {
  const url = new URL(`${server}${call.path}`)
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value)
  return request(url, {
    method: call.method,
    headers: {
      ...headers,
      accept: call.accept ?? 'application/json',
      ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
    },
    body: call.body === undefined ? null : JSON.stringify(call.body),
    dispatcher,
    headersTimeout: call.timeoutMs,
    bodyTimeout,
    signal: call.signal ?? null,
  })
}

/** Aborts after the call's time, or with its own signal. `AbortSignal.timeout` would abort also what has ended long ago. */
function startLimit({ timeoutMs, signal }: ClusterCall) {
  const limit = new AbortController()
  const timer = setTimeout(
    () => limit.abort(new DOMException('no response in time', 'TimeoutError')),
    timeoutMs,
  )
  return {
    signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
    end: () => clearTimeout(timer),
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > answerBytesMax) throw new Error(`a response has more than ${answerBytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > lineLengthMax) throw new Error(`a line has more than ${lineLengthMax} characters`)
    for (const line of parts) if (line !== '') yield line
  }
}

/** Reports what went wrong without any header, since headers carry the token. */
function unavailable(error: unknown): ClusterUnavailable {
  if (error instanceof ClusterUnavailable) return error
  const reason = error instanceof Error ? error.message : String(error)
  const Kind = error instanceof errors.BodyTimeoutError ? ClusterSilent : ClusterUnavailable
  return new Kind(`The Kubernetes API is unavailable: ${reason}`, { cause: error })
}
