import { randomUUID } from 'node:crypto'
import { createCallerPlace } from '#core/keys/caller-place'
import type { KeyHash } from '#core/keys/key'
import type { KeyList } from '#core/process/key-list'
import { sealedBytesAdded } from '#core/process/seal'
import {
  createWriteProof,
  type FoundHead,
  itemIdLengthMax,
  readFrame,
  referredBytesMax,
  referredItemsMax,
  type StoredHead,
  storedBytesMax,
  writeFrame,
} from '#core/stored-responses/response-frame'
import { findJson, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { type Attempt, BoundedWrites, type WriteEnd } from './internal/bounded-writes.ts'
import {
  type CabinetAnswer,
  type CabinetCalls,
  connectionsMax,
  createCabinetCalls,
} from './internal/cabinet-calls.ts'
import { createResponseCipher, type ResponseCipher } from './internal/response-cipher.ts'

/** Whose key asks, as the client sent it and as Redis knows it. */
export type StoreCaller = {
  readonly authorization: string
  /** Of the client. */
  readonly ip: string
  readonly requestId: string
  readonly organizationId: string
  readonly keyId: string
}

/** A response to be stored. Texts are JSON. */
type NewResponse = {
  readonly hours: number
  readonly secretHash: KeyHash
  /** The stored response that it continues, by its request. */
  readonly previousId: string | null
  /** `{"items":[…]}`: its own input, without that of the responses that it continues. */
  readonly input: readonly Buffer[]
  /** As its client gets it. */
  readonly json: string
  /** Of its output: later requests may refer to each. */
  readonly items: readonly JsonObject[]
}

/** A stored response. Texts are JSON. */
export type KeptResponse = { readonly id: string; readonly input: string; readonly response: string }

/** `unavailable`: the cabinet does not answer, or not as it should. */
export type Found =
  | { readonly kind: 'found'; readonly responses: readonly KeptResponse[] }
  | { readonly kind: 'not_found' | 'too_large' | 'unavailable' }

type KeepEnd = WriteEnd | 'too_large'

/** The responses that keys keep: encrypted here, stored by the cabinet. Ids are those of requests. */
export type ResponseStore = {
  /** Stores the response to the caller's request; one that is not `stored` is not kept. Takes a second at most, never fails. */
  keep(response: NewResponse, caller: StoreCaller): Promise<KeepEnd>
  find(id: string, caller: StoreCaller): Promise<Found>
  /** A response and those that it continues, the oldest first. */
  findConversation(id: string, caller: StoreCaller): Promise<Found>
  /** The responses that have these output items, without their inputs; at most `referredItemsMax`. */
  findWithItems(itemIds: readonly string[], caller: StoreCaller): Promise<Found>
  remove(id: string, caller: StoreCaller): Promise<'removed' | 'not_found' | 'unavailable'>
  /** Bytes that wait to be stored. */
  waitingBytes(): number
  close(): Promise<void>
}

type StoreOptions = {
  readonly cabinetUrl: string
  readonly keyPepper: string
  readonly sealingKeys: KeyList<Uint8Array>
  readonly note: (end: KeepEnd) => void
  /** Each answer of the cabinet, or the reason that there is none. */
  readonly noteCabinet: (cause: unknown) => void
  /** `performance.now`. */
  readonly now: () => number
}

/** Of what waits to be stored: 16 of the largest. */
const waitingBytesMax = 64 * 1024 * 1024
/** How long the end of a response waits for its being stored: some hundred times as long as it takes. */
const keepMsMax = 1_000

export function createResponseStore(options: StoreOptions): ResponseStore {
  const calls = createCabinetCalls(
    options.cabinetUrl,
    referredBytesMax + 1024 * 1024,
    createCallerPlace(options.keyPepper),
  )
  const cipher = createResponseCipher(options.sealingKeys)
  const limits = { bytesMax: waitingBytesMax, atOnceMax: connectionsMax, waitMs: keepMsMax }
  const writes = new BoundedWrites(limits, options.now)
  const call: CabinetCalls['call'] = async (asked) => {
    const answer = await calls.call(asked)
    options.noteCabinet(causeOf(answer))
    return answer
  }
  const deps = { call, cipher, writes, proof: createWriteProof(options.keyPepper) }
  const read = (path: string, caller: StoreCaller) => readFound(deps, { method: 'GET', path }, caller)
  return {
    async keep(response, caller) {
      const end = await keep(deps, response, caller)
      options.note(end)
      return end
    },
    find: (id, caller) => read(`/${encodeURIComponent(id)}`, caller),
    findConversation: (id, caller) => read(`/${encodeURIComponent(id)}/conversation`, caller),
    findWithItems: (itemIds, caller) =>
      readFound(deps, { method: 'POST', path: '/items', body: Buffer.from(JSON.stringify(itemIds)) }, caller),
    remove: (id, caller) => remove(deps, id, caller),
    waitingBytes: () => writes.bytes,
    close: calls.close,
  }
}

function causeOf(answer: CabinetAnswer): unknown {
  if (answer.kind === 'unavailable') return answer.cause
  return answer.status < 500 ? undefined : new Error(`the cabinet responded with status ${answer.status}`)
}

type Deps = {
  readonly call: CabinetCalls['call']
  readonly cipher: ResponseCipher
  readonly writes: BoundedWrites
  readonly proof: ReturnType<typeof createWriteProof>
}

async function keep(deps: Deps, response: NewResponse, caller: StoreCaller): Promise<KeepEnd> {
  const { requestId: id } = caller
  const texts = { input: response.input, response: [Buffer.from(response.json)] }
  const inputLength = lengthOf(texts.input)
  if (inputLength + lengthOf(texts.response) > storedBytesMax) return 'too_large'
  const sealed = { ...caller, id }
  const parts = [
    ...deps.cipher.encrypt(texts.input, { ...sealed, part: 'input' }),
    ...deps.cipher.encrypt(texts.response, { ...sealed, part: 'response' }),
  ]
  const head = JSON.stringify({
    id,
    hours: response.hours,
    previousId: response.previousId,
    itemIds: itemIdsOf(response.items),
    inputBytes: inputLength + sealedBytesAdded,
  } satisfies StoredHead)
  const body = writeFrame(head, parts)
  const proof = deps.proof.write(response.secretHash, head)
  const { authorization, ip } = caller
  const put = { method: 'PUT', path: '', authorization, ip, requestId: id, body, proof } as const
  return deps.writes.write({
    bytes: body.length,
    attempt: async () => attemptOf(await deps.call(put)),
    undo: () => void remove(deps, id, { ...caller, requestId: randomUUID() }),
  })
}

function attemptOf(answer: CabinetAnswer): Attempt {
  if (answer.kind === 'unavailable' || answer.status >= 500) return 'failed'
  return answer.status === 200 ? 'stored' : 'rejected'
}

function itemIdsOf(items: readonly JsonObject[]): readonly string[] {
  return items
    .map(({ id }) => id)
    .filter((id): id is string => typeof id === 'string' && id !== '' && id.length <= itemIdLengthMax)
    .slice(0, referredItemsMax)
}

async function remove(
  { call }: Pick<Deps, 'call'>,
  id: string,
  { authorization, ip, requestId }: StoreCaller,
): Promise<'removed' | 'not_found' | 'unavailable'> {
  const path = `/${encodeURIComponent(id)}`
  const answer = await call({ method: 'DELETE', path, authorization, ip, requestId })
  if (answer.kind === 'unavailable') return 'unavailable'
  if (answer.status === 200) return 'removed'
  return answer.status === 404 ? 'not_found' : 'unavailable'
}

async function readFound(
  { call, cipher }: Pick<Deps, 'call' | 'cipher'>,
  asked: Pick<Parameters<CabinetCalls['call']>[0], 'method' | 'path' | 'body'>,
  caller: StoreCaller,
): Promise<Found> {
  const { authorization, ip, requestId } = caller
  const answer = await call({ ...asked, authorization, ip, requestId })
  if (answer.kind === 'unavailable') return answer
  if (answer.status === 404) return { kind: 'not_found' }
  if (answer.status === 413) return { kind: 'too_large' }
  const frame = answer.status === 200 ? readFrame(answer.bytes) : undefined
  if (frame === undefined) return { kind: 'unavailable' }
  const responses = decrypted(
    itemsOf(findJson(frame.head)) as readonly FoundHead[],
    frame.bytes,
    cipher,
    caller,
  )
  return responses === undefined ? { kind: 'not_found' } : { kind: 'found', responses }
}

/** `undefined`: one of them is not the caller's. */
function decrypted(
  heads: readonly FoundHead[],
  bytes: Buffer,
  cipher: ResponseCipher,
  { organizationId, keyId }: StoreCaller,
): readonly KeptResponse[] | undefined {
  const responses: KeptResponse[] = []
  let at = 0
  for (const { id, inputBytes, responseBytes } of heads) {
    const sealed = { organizationId, keyId, id }
    const end = at + inputBytes
    const input =
      inputBytes === 0 ? '' : cipher.decrypt(bytes.subarray(at, end), { ...sealed, part: 'input' })
    const response = cipher.decrypt(bytes.subarray(end, end + responseBytes), { ...sealed, part: 'response' })
    if (input === undefined || response === undefined) return undefined
    responses.push({ id, input, response })
    at = end + responseBytes
  }
  return responses
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}
