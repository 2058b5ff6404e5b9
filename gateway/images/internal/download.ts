import { Client, type Dispatcher } from 'undici'
import { createGuardedConnector, type ResolveName } from '#core/egress/guarded-connector'
import { detectImageType, signatureBytes } from '../../wire/image-type.ts'
import { type ImageProblem, type ImageProblemReason, imageBytesMax, imageProblem } from '../image-problem.ts'
import { base64Length, createBase64Text } from './base64-text.ts'
import type { FetchEnd } from './fetch-end.ts'
import type { FetchedImage, HeldBytes } from './fetched-image.ts'
import { type Pace, startPaceClock } from './pace-clock.ts'

export type Download = {
  readonly url: URL
  readonly isAllowed: (address: string) => boolean
  readonly resolve: ResolveName
  readonly pace: Pace
  readonly held: HeldBytes
  readonly end: FetchEnd
}

const headers = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'model-gateway' }

/** Downloads an image over its own connection, which is closed at the end. Nothing is held after a failure. */
export async function download(work: Download): Promise<FetchedImage | ImageProblem> {
  const { url, end } = work
  const pace = startPaceClock(work.pace, () => end.end(imageProblem('too_slow')))
  const client = openClient(work)
  const close = () => void client.destroy()
  end.signal.addEventListener('abort', close)
  try {
    const path = `${url.pathname}${url.search}`
    const response = await client.request({ path, method: 'GET', headers })
    pace.noteHeaders()
    return findHeadProblem(response) ?? (await readImage(response.body, work, pace.noteBytes))
  } catch (error) {
    return end.problem() ?? imageProblem(reasonOf(error))
  } finally {
    pace.stop()
    end.signal.removeEventListener('abort', close)
    await client.destroy()
  }
}

function openClient({ url, isAllowed, resolve, end }: Download): Client {
  return new Client(url.origin, {
    pipelining: 0, // `connection: close`
    headersTimeout: 0, // our own clocks
    bodyTimeout: 0,
    connect: createGuardedConnector({
      isAllowed,
      resolve,
      plainHttp: true,
      caCertificates: undefined,
      signal: end.signal,
    }),
  })
}

function findHeadProblem(response: Dispatcher.ResponseData): ImageProblem | undefined {
  const { statusCode, headers } = response
  if (statusCode >= 300 && statusCode < 400) return imageProblem('redirected')
  if (statusCode !== 200) return { outcome: 'failed', reason: 'status_not_ok', status: statusCode }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return imageProblem('compressed')
  return Number(headers['content-length']) > imageBytesMax ? imageProblem('too_large') : undefined
}

async function readImage(
  body: AsyncIterable<Buffer>,
  { held, end }: Download,
  noteBytes: (bytes: number) => void,
): Promise<FetchedImage | ImageProblem> {
  const text = createBase64Text()
  let head: Buffer = Buffer.alloc(0)
  let bytes = 0
  let heldBytes = 0
  let isComplete = false

  function findProblem(chunk: Buffer): ImageProblem | undefined {
    const more = base64Length(bytes) - heldBytes
    heldBytes += more
    const problem = held.hold(more)
    if (bytes > imageBytesMax) return imageProblem('too_large')
    if (head.length < signatureBytes) head = Buffer.concat([head, chunk.subarray(0, signatureBytes)])
    const isUnknown = head.length >= signatureBytes && detectImageType(head) === undefined
    return isUnknown ? imageProblem('not_an_image') : problem
  }

  try {
    for await (const chunk of body) {
      bytes += chunk.length
      noteBytes(chunk.length)
      const problem = end.problem() ?? findProblem(chunk)
      if (problem !== undefined) return problem
      text.add(chunk)
    }
    const mediaType = detectImageType(head)
    const problem = end.problem()
    if (problem !== undefined) return problem
    if (mediaType === undefined) return imageProblem(bytes === 0 ? 'empty' : 'not_an_image')
    isComplete = true
    return { outcome: 'fetched', mediaType, base64: text.finish(), heldBytes }
  } finally {
    if (!isComplete) held.release(heldBytes)
  }
}

/** Why a server did not return an image. @throws `error` if it is a bug in our code. */
function reasonOf(error: unknown): ImageProblemReason {
  if (error instanceof TypeError || error instanceof RangeError || !(error instanceof Error)) throw error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === 'ERR_ADDRESS_REFUSED') return 'address_not_public'
  if (error.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'http_invalid'
  if (connectCodes.test(code)) return 'connect_failed'
  return tlsCodes.test(code) ? 'tls_failed' : 'incomplete'
}

const connectCodes =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/
const tlsCodes = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO)/
