import type { KubeConfig } from '@kubernetes/client-node'
import { type Dispatcher, errors, request } from 'undici'
import { unlessAborted } from '#core/process/unless-aborted'
import { createClusterSessions, type Session } from './cluster-sessions.ts'

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
  { onRequest }: { readonly onRequest: (code: string, method: string) => void },
): ClusterTransport {
  const server = kubeConfig.getCurrentCluster()?.server.replace(/\/+$/, '')
  if (server === undefined) throw new Error('The kubeconfig has no current cluster.')
  const sessions = createClusterSessions(kubeConfig)

  async function open(call: ClusterCall, idleMs: number): Promise<Dispatcher.ResponseData> {
    const used = sessions.current()
    const answer = await openWith(await inTime(used, call), call, idleMs)
    if (answer.statusCode !== 401) return answer
    await answer.body.dump()
    return openWith(await inTime(sessions.after(used), call), call, idleMs) // the token was rotated
  }

  async function openWith(used: Session, call: ClusterCall, idleMs: number) {
    const url = new URL(`${server}${call.path}`)
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value)
    const answer = request(url, {
      method: call.method,
      headers: {
        ...used.headers,
        accept: call.accept ?? 'application/json',
        ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
      },
      body: call.body === undefined ? null : JSON.stringify(call.body),
      dispatcher: used.dispatcher,
      headersTimeout: call.timeoutMs,
      bodyTimeout: idleMs,
      signal: call.signal ?? null,
    })
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
    try {
      const { statusCode, body } = await open(call, call.idleMs)
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
      const limit = AbortSignal.timeout(call.timeoutMs)
      const signal = call.signal === undefined ? limit : AbortSignal.any([call.signal, limit])
      try {
        const { statusCode, body } = await open({ ...call, signal }, call.timeoutMs)
        return { status: statusCode, text: await readText(body) }
      } catch (error) {
        throw unavailable(error)
      }
    },
    async close() {
      sessions.destroy()
    },
  }
}

/** A kubeconfig may name a program that provides credentials, and that may hang. */
function inTime(opening: Promise<Session>, { timeoutMs, signal }: ClusterCall): Promise<Session> {
  const limit = AbortSignal.timeout(timeoutMs)
  return unlessAborted(opening, signal === undefined ? limit : AbortSignal.any([signal, limit]))
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
