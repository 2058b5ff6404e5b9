import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { Inspection } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { compressedBody, keyRefusal, requestTooLarge } from '../wire/errors.ts'
import { atOnceBytesMax, inTurns } from '../wire/turns.ts'
import type { ConnectionShare } from './connection-share.ts'
import type { HeldBodies } from './held-bodies.ts'
import type { InspectCaller } from './key-first.ts'

/**
 * Larger bodies are read to the end, and parsed, only for a key that works, at the price of one more call to Redis: a
 * body of this size is read in about the time of that call, and takes no more memory than its connection does.
 */
const inspectedAboveBytes = 16 * 1024

/** A body that is not read to its end, and the refusal to answer with. */
export class BodyRefused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.name = 'BodyRefused'
    this.refusal = refusal
  }
}

type BodyReaderDeps = {
  /** Asked before a body of more than 16 KiB is read on. */
  readonly inspect: InspectCaller
  readonly share: Pick<ConnectionShare, 'take'>
  readonly held: HeldBodies
}

type Done = (error: Error | null, body?: Buffer) => void

/** Reads the bodies of all requests, and counts how much of them is in memory. */
export type BodyReader = {
  /** Calls `done` once, with the whole body, a `BodyRefused`, or why the body broke off. */
  read(request: FastifyRequest, payload: Readable, done: Done): void
  /** Counts content of a request besides its body until `release`, or answers why there is no room for it. */
  hold(request: FastifyRequest, bytes: number, organizationId: string): Refusal | undefined
  /** To be called once for each request at its end: its body is no longer needed. */
  release(request: FastifyRequest): void
}

export function createBodyReader(bodyBytesMax: number, deps: BodyReaderDeps): BodyReader {
  const { held } = deps
  const owners = new WeakMap<FastifyRequest, string>()
  const more = new WeakMap<FastifyRequest, { readonly bytes: number; readonly organizationId: string }[]>()
  const reading = { ...deps, bodyBytesMax, owners }
  return {
    read: (request, payload, done) => readBody(reading, request, payload, done),
    hold(request, bytes, organizationId) {
      more.set(request, [...(more.get(request) ?? []), { bytes, organizationId }])
      held.add(bytes, organizationId)
      return held.findExcess(organizationId)
    },
    release(request) {
      for (const { bytes, organizationId } of more.get(request) ?? []) held.remove(bytes, organizationId)
      more.delete(request)
      if (Buffer.isBuffer(request.body)) held.remove(request.body.length, owners.get(request))
    },
  }
}

/** What the reading of all bodies shares. */
type Reading = BodyReaderDeps & {
  readonly bodyBytesMax: number
  /** Whose the large bodies are. */
  readonly owners: WeakMap<FastifyRequest, string>
}

function readBody(reading: Reading, request: FastifyRequest, payload: Readable, done: Done): void {
  const { bodyBytesMax, held, owners } = reading
  const chunks: Buffer[] = []
  let received = 0
  let isInspected = false
  let isOver = false

  function onData(chunk: Buffer): void {
    received += chunk.length
    held.add(chunk.length, owners.get(request))
    chunks.push(chunk)
    const excess =
      received > bodyBytesMax ? requestTooLarge(bodyBytesMax) : held.findExcess(owners.get(request))
    if (excess !== undefined) fail(new BodyRefused(excess))
    else if (received > inspectedAboveBytes && !isInspected) pauseForKey()
  }

  function pauseForKey(): void {
    isInspected = true
    payload.pause()
    reading.inspect(request).then(
      (inspection) => {
        const refusal = isOver ? undefined : refusalOf(request, inspection, reading.share)
        if (refusal !== undefined) fail(new BodyRefused(refusal))
        else if (!isOver) goOn(inspection.key?.organizationId)
      },
      (cause: unknown) => fail(new Error('API key lookup failed', { cause })),
    )
  }

  function goOn(organizationId: string | undefined): void {
    if (organizationId !== undefined) owners.set(request, organizationId)
    held.remove(received, undefined)
    held.add(received, organizationId)
    begin(request, payload)
  }

  function fail(error: Error): void {
    if (isOver) return
    end()
    held.remove(received, owners.get(request))
    payload.resume() // what still arrives is discarded
    done(error)
  }

  function finish(): void {
    end()
    concat(chunks, received, done)
  }

  function end(): void {
    isOver = true
    payload.off('data', onData).off('end', finish).off('error', fail)
  }

  const length = Number(request.headers['content-length'])
  const fault = length > bodyBytesMax ? requestTooLarge(bodyBytesMax) : findEncoding(request.headers)
  if (fault !== undefined) {
    done(new BodyRefused(fault))
    return
  }
  payload.on('data', onData).on('end', finish).on('error', fail)
  if (length > inspectedAboveBytes) pauseForKey()
  else begin(request, payload)
}

function concat(chunks: readonly Buffer[], length: number, done: Done): void {
  if (length <= atOnceBytesMax) done(null, Buffer.concat(chunks, length))
  else inTurns(concatInSteps(chunks, length)).then((body) => done(null, body), done)
}

/** The memory for 32 MiB takes 20 ms when it is first written to. */
function* concatInSteps(chunks: readonly Buffer[], length: number): Generator<undefined, Buffer> {
  const body = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const chunk of chunks) {
    at += chunk.copy(body, at)
    yield
  }
  return body
}

/** Lets the body come, after a `100 Continue` if its client waits for that. */
function begin(request: FastifyRequest, payload: Readable): void {
  request.askForBody?.()
  request.askForBody = null
  payload.resume()
}

/**
 * A key without requests left this minute, or without connections left for its organization, gets that error
 * before its body is read.
 */
function refusalOf(
  { raw }: FastifyRequest,
  inspection: Inspection,
  share: BodyReaderDeps['share'],
): Refusal | undefined {
  if (inspection.outcome === 'refused') return keyRefusal(inspection)
  const { key, rpmWaitMs: retryAfterMs } = inspection
  const { limit, used, remaining } = key.limits.rpm
  if (remaining > 0) return share.take(raw, key.organizationId)
  return keyRefusal({ reason: 'rpm', limit, used, retryAfterMs })
}

/** Compressed bodies are rejected: they may be much larger than they look. */
function findEncoding({ 'content-encoding': encoding }: IncomingHttpHeaders): Refusal | undefined {
  if (encoding === undefined || /^(?:identity)?$/i.test(encoding)) return undefined
  return compressedBody(encoding)
}
