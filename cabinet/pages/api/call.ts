import type { proofHeader } from '../../api/proof-of-work.ts'
import { currentLanguage } from '../i18n/language.ts'
import type { Answer, Call, Input } from './calls.ts'
import { keepOrganization, header as organizationHeader, organizationOfTab } from './organization.ts'
import { ApiProblem, readProblem } from './problem.ts'
import { noteAnswer, noteSlowRead } from './reachability.ts'
import { noteServerTime } from './server-clock.ts'

/** The body of a response, and its version for `ifMatch`. */
export type Versioned<Body> = { readonly body: Body; readonly etag: string | undefined }

/** What a call may send. */
export type Given = {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: unknown
  readonly idempotencyKey?: string
  readonly ifMatch?: string
  readonly signal?: AbortSignal
  readonly proof?: string
  /** Not from the browser's cache: to read again what may have changed, or whether the server is there. */
  readonly isFresh?: boolean
}

type Inputs<Name extends Call> =
  Record<never, never> extends Input<Name> ? [input?: Input<Name>] : [input: Input<Name>]

/** Calls our server: `await call('PATCH /me', { body: { locale: 'ru' } })`. @throws ApiProblem */
export async function call<Name extends Call>(name: Name, ...[input]: Inputs<Name>): Promise<Answer<Name>> {
  return (await callVersioned(name, ...([input] as Inputs<Name>))).body
}

/** Like `call`, with the version of the response. @throws ApiProblem */
export async function callVersioned<Name extends Call>(
  name: Name,
  ...[input]: Inputs<Name>
): Promise<Versioned<Answer<Name>>> {
  return callAny(name, (input ?? {}) as Given)
}

/** Like `callVersioned`, at the endpoint of any process. `never` fits each response: its caller has the types. */
export async function callAny(name: string, given: Given = {}): Promise<Versioned<never>> {
  const [method = '', path = ''] = name.split(' ')
  const response = await ask(method, addressOf(path, given), given)
  const isEmpty = response.status === 204 || response.headers.get('content-length') === '0'
  const etag = response.headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '')
  return { body: (isEmpty ? undefined : await response.json()) as never, etag }
}

/** Reads a whole file. An interrupted download is a problem, never half a file. @throws ApiProblem */
export async function readFile(address: string): Promise<File> {
  const response = await ask('GET', address, {})
  const [, name = 'download'] =
    /filename="(.+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const content = await response.blob().catch(() => {
    throw new ApiProblem({ code: 'network' })
  })
  return new File([content], name, { type: content.type })
}

/** The response if it succeeded. @throws ApiProblem */
async function ask(method: string, address: string, given: Given): Promise<Response> {
  try {
    return await askOnce(method, address, given)
  } catch (error) {
    // The first calls of a tab, by a member of several organizations.
    if (!(error instanceof ApiProblem) || error.code !== 'organization_required') throw error
    await beginWithOrganization()
    return askOnce(method, address, given)
  }
}

let beginning: Promise<void> | undefined

/** Keeps the organization that the user chose last, once for all calls that wait for it. */
async function beginWithOrganization(): Promise<void> {
  if (organizationOfTab() !== undefined) return
  beginning ??= call('GET /me').then(({ email, organization }) => {
    if (organization !== null) keepOrganization(email, organization.id)
  })
  try {
    await beginning
  } finally {
    beginning = undefined
  }
}

async function askOnce(method: string, address: string, given: Given): Promise<Response> {
  const response = await sendWithProof(method, address, given)
  noteServerTime(response.headers.get('date'))
  if (!response.ok) {
    const problem = await readProblem(response)
    noteAnswer(isAway(problem) ? 'unavailable' : 'fine')
    throw problem
  }
  noteAnswer('fine')
  return response
}

/** Whether our service as a whole is reachable. A silent payment provider affects nothing else. */
function isAway({ status, code }: ApiProblem): boolean {
  return (status === 502 || status === 503) && code !== 'payments_unavailable'
}

/** Address of a list as a file: `<DownloadLink href={addressOf('/usage.csv', { query })}>`. */
export function addressOf(
  path: string,
  { params = {}, query = {} }: Pick<Given, 'params' | 'query'>,
): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const asked = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  )
  const search = new URLSearchParams(asked).toString()
  return `/api/v1${filled}${search === '' ? '' : `?${search}`}`
}

const header: typeof proofHeader = 'proof-of-work'

/**
 * How many challenges one call solves. Other clients cause each of them, and by the time it is solved it may be too
 * easy.
 */
const proofsMax = 3

/** Sends the call. When the server demands proof of work because of too many calls, solves it in the background. */
async function sendWithProof(method: string, address: string, given: Given): Promise<Response> {
  let response = await send(method, address, given)
  for (let proofs = 0; proofs < proofsMax && response.status === 428; proofs++) {
    const { proofFor } = await import('./proof-of-work.ts').catch(() => {
      throw new ApiProblem({ code: 'network' })
    })
    const proof = await proofFor(await readProblem(response.clone()), given.signal)
    if (proof === undefined) return response
    response = await send(method, address, { ...given, proof })
  }
  return response
}

async function send(method: string, address: string, given: Given): Promise<Response> {
  const { body, idempotencyKey, ifMatch, signal, proof, isFresh = false } = given
  const organization = organizationOfTab()
  const headers = {
    'accept-language': currentLanguage(),
    ...(organization === undefined ? {} : { [organizationHeader]: organization }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
    ...(proof === undefined ? {} : { [header]: proof }),
  }
  const noLongerWaiting = method === 'GET' ? noteIfSlow() : undefined
  try {
    return await fetch(address, {
      method,
      headers,
      cache: isFresh ? 'no-store' : 'default',
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    noteAnswer('unreachable')
    throw new ApiProblem({ code: 'network' })
  } finally {
    noLongerWaiting?.()
  }
}

/** How long users wait in silence. */
const slowAfterMs = 3_000

/** @returns to be called when the response is there. */
function noteIfSlow(): () => void {
  let end: (() => void) | undefined
  const timer = setTimeout(() => {
    end = noteSlowRead()
  }, slowAfterMs)
  return () => {
    clearTimeout(timer)
    end?.()
  }
}

/** For `idempotencyKey`: generated once per user action and reused for every retry of it. */
export function newIdempotencyKey(): string {
  // Not randomUUID: it is missing on pages opened over plain HTTP.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}
