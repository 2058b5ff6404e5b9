import type { Refusal } from '#core/errors/refusal'
import { referredItemsMax } from '#core/stored-responses/response-frame'
import type { Found, KeptResponse, ResponseStore, StoreCaller } from '../../response-store/response-store.ts'
import { invalidValue, responsesUnavailable } from '../../wire/errors.ts'
import { fieldsOf, itemsOf, type JsonObject, objectsIn } from '../../wire/json-fields.ts'
import { findObjectInSteps } from '../../wire/json-in-steps.ts'
import { isText } from '../../wire/long-text.ts'
import { workThrough } from '../../wire/turns.ts'

/** A request with the stored items that it refers to. */
export type Resolved = {
  /** It refers to nothing that is stored, but maybe to reasoning that is not. */
  readonly body: JsonObject
  /** Its own input, without that of the responses that it continues. */
  readonly ownInput: readonly unknown[]
  /** The response that it continues, by its request. */
  readonly previousId: string | null
  /** Of the items that are not in the client's body. */
  readonly addedBytes: number
  /** The client's path of a field of `body`. */
  readonly pathOf: (path: string) => string
}

type Refused = { readonly refusal: Refusal }

const responseId = /^resp_([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$/

/** Whether a request refers to anything that is stored. */
export function refersToStored({ previous_response_id: previous, input }: JsonObject): boolean {
  return isText(previous) || itemsOf(input).some((item) => referenceOf(item) !== undefined)
}

/** The input of a request as items. */
export function inputItemsOf(input: unknown): readonly unknown[] {
  if (!isText(input)) return itemsOf(input)
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/**
 * Puts stored items in the places where a request refers to them: before its input, where it continues a response. A
 * reference to reasoning that is not stored stays: models do without it.
 */
export async function resolveReferences(
  body: JsonObject,
  store: ResponseStore,
  caller: StoreCaller,
): Promise<Resolved | Refused> {
  const { previous_response_id: previous, ...rest } = body
  const before = isText(previous) ? await readConversation(String(previous), store, caller) : nothingBefore
  if ('refusal' in before) return before
  const own = await readReferences(inputItemsOf(body.input), store, caller)
  if ('refusal' in own) return own
  const { items, addedBytes } = before
  return {
    body: { ...rest, input: [...items, ...own.items] },
    ownInput: own.items.filter((item) => referenceOf(item) === undefined),
    previousId: before.previousId,
    addedBytes: addedBytes + own.addedBytes,
    pathOf: (path) => ownPathOf(path, items.length),
  }
}

type Before = {
  readonly items: readonly unknown[]
  readonly previousId: string | null
  readonly addedBytes: number
}

const nothingBefore: Before = { items: [], previousId: null, addedBytes: 0 }

async function readConversation(
  previous: string,
  store: ResponseStore,
  caller: StoreCaller,
): Promise<Before | Refused> {
  const previousId = responseId.exec(previous)?.[1]
  if (previousId === undefined) return { refusal: invalidValue('previous_response_id', previousMissing) }
  const found = await store.findConversation(previousId, caller)
  if (found.kind !== 'found')
    return { refusal: refusalOf(found.kind, 'previous_response_id', previousMissing) }
  const items: unknown[] = []
  for (const response of found.responses) {
    items.push(...itemsOf((await objectIn(response.input)).items))
    items.push(...itemsOf((await objectIn(response.response)).output))
  }
  return { items, previousId, addedBytes: bytesOf(found.responses) }
}

const previousMissing =
  'refers to a response that is not stored for this API key: it, or an earlier one of the conversation, was deleted, has expired or was never stored. Send the whole conversation in input'
const itemMissing =
  'refers to an item that is not stored for this API key: its response was deleted, has expired or was never stored. Send the whole item'

type Own = { readonly items: readonly unknown[]; readonly addedBytes: number }

async function readReferences(
  input: readonly unknown[],
  store: ResponseStore,
  caller: StoreCaller,
): Promise<Own | Refused> {
  const ids = new Set(input.map(referenceOf).filter((id) => id !== undefined))
  if (ids.size === 0) return { items: input, addedBytes: 0 }
  if (ids.size > referredItemsMax)
    return { refusal: invalidValue('input', `refers to more than ${referredItemsMax} stored items`) }
  const found = await store.findWithItems([...ids], caller)
  if (found.kind !== 'found' && found.kind !== 'not_found')
    return { refusal: refusalOf(found.kind, 'input', itemMissing) }
  const responses = found.kind === 'found' ? found.responses : []
  const stored = await itemsIn(responses)
  const items: unknown[] = []
  for (const [at, item] of input.entries()) {
    const id = referenceOf(item)
    const own = id === undefined ? item : stored.get(id)
    if (own === undefined && !id?.startsWith('rs_'))
      return { refusal: invalidValue(`input[${at}]`, itemMissing) }
    items.push(own ?? item)
  }
  return { items, addedBytes: bytesOf(responses) }
}

async function itemsIn(responses: readonly KeptResponse[]): Promise<ReadonlyMap<string, JsonObject>> {
  const items = new Map<string, JsonObject>()
  for (const { response } of responses)
    for (const item of objectsIn((await objectIn(response)).output)) items.set(String(item.id), item)
  return items
}

/** The id of a stored item in whose place an item is; clients may leave out its type. */
function referenceOf(item: unknown): string | undefined {
  const { type, id, ...others } = fieldsOf(item) ?? {}
  if (type !== 'item_reference' && (type !== undefined || Object.keys(others).length > 0)) return undefined
  return isText(id) ? String(id) : undefined
}

function refusalOf(kind: Exclude<Found['kind'], 'found'>, param: string, missing: string): Refusal {
  if (kind === 'unavailable') return responsesUnavailable
  if (kind === 'not_found') return invalidValue(param, missing)
  return invalidValue(
    param,
    'refers to more stored content than one request may have. Send the part of the conversation that matters in input',
  )
}

/** It was written here, maybe by another release. */
async function objectIn(json: string): Promise<JsonObject> {
  return (await workThrough(findObjectInSteps(json), json.length)) ?? {}
}

function bytesOf(responses: readonly KeptResponse[]): number {
  return responses.reduce(
    (sum, { input, response }) => sum + Buffer.byteLength(input) + Buffer.byteLength(response),
    0,
  )
}

/** Of a field of the client's input, or of what it refers to. */
function ownPathOf(path: string, before: number): string {
  return path.replace(/^input\[(\d+)\](.*)$/s, (_all, at: string, rest: string) =>
    Number(at) < before ? 'previous_response_id' : `input[${Number(at) - before}]${rest}`,
  )
}
