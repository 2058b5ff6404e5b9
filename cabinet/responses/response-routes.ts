import type { Pool } from 'pg'
import { z } from 'zod'
import { inReadScope, inScope, type Scope } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import { findBearer, hashKey, type KeySecret } from '#core/keys/key'
import { keepsResponsesHoursMax } from '#core/keys/key-state'
import type { HttpRoute } from '#core/process/http-route'
import {
  createWriteProof,
  type FoundHead,
  itemIdLengthMax,
  proofHeader,
  readFrame,
  referredItemsMax,
  type StoredHead,
  storedBytesMax,
  writeFrame,
} from '#core/stored-responses/response-frame'
import { responseMessages } from '#core/stored-responses/response-messages'
import {
  deleteResponse,
  type FoundResponses,
  findConversation,
  findResponse,
  findResponsesWith,
  type ResponseOwner,
  storeResponse,
} from '#core/stored-responses/response-store'

type Code = 'response_not_found' | 'invalid_value' | 'request_too_large'
type ResponseRoute = HttpRoute<Code>
type Answer = Awaited<ReturnType<ResponseRoute['handle']>>

/** Gateways call for their callers, each as often as its RPM allows. */
const limit = { perMinute: 60_000, of: 'calls about stored responses' }
/** Of a frame beyond what it describes: its head, and what encryption adds. */
const frameBytesMax = 1024 * 1024

const responseId = z.uuidv7()
const itemId = z.string().min(1).max(itemIdLengthMax)
const storedHead: z.ZodType<StoredHead> = z.strictObject({
  id: responseId,
  hours: z.int().min(1).max(keepsResponsesHoursMax),
  previousId: responseId.nullable(),
  itemIds: z.array(itemId).max(referredItemsMax),
  inputBytes: z.int().min(0),
})
const askedItems = z.array(itemId).min(1).max(referredItemsMax)

const notFound: Answer = {
  refusal: {
    code: 'response_not_found',
    message:
      'No stored response of this API key has this ID. It was deleted, has expired or was never stored.',
  },
}
const tooLarge: Answer = {
  refusal: { code: 'request_too_large', message: 'The stored responses are too large to be continued.' },
}
const notOfGateway: Answer = {
  refusal: {
    code: 'invalid_value',
    message: 'Responses are stored by the gateway only: POST /v1/responses.',
  },
}

/** The stored responses of a key, for gateways. Only they can decrypt what is stored here. */
export function responseRoutes(pool: Pool, keyPepper: string): readonly ResponseRoute[] {
  const reading = { access: 'api_key', limit, messages: responseMessages } as const
  const read = async (
    owner: ResponseOwner,
    work: (client: Queryable) => Promise<FoundResponses>,
  ): Promise<Answer> => answerOf(await inReadScope(pool, owner.organizationId, work))

  return [
    { ...reading, method: 'PUT', url: '/v1/responses', ...writing(pool, keyPepper) },
    {
      ...reading,
      method: 'GET',
      url: '/v1/responses/:id',
      handle: async ({ caller, params: { id = '' } }) =>
        isId(id) ? read(caller, (client) => findResponse(client, caller, id)) : notFound,
    },
    {
      ...reading,
      method: 'GET',
      url: '/v1/responses/:id/conversation',
      handle: async ({ caller, params: { id = '' } }) =>
        isId(id) ? read(caller, (client) => findConversation(client, caller, id)) : notFound,
    },
    {
      ...reading,
      method: 'POST',
      url: '/v1/responses/items',
      bodyBytesMax: frameBytesMax,
      handle: async ({ caller, body }) => {
        const asked = askedItems.safeParse(jsonOf(body.toString()))
        if (!asked.success) return notFound
        return read(caller, (client) => findResponsesWith(client, caller, asked.data))
      },
    },
    {
      ...reading,
      method: 'DELETE',
      url: '/v1/responses/:id',
      handle: async ({ caller, params: { id = '' } }) => {
        const scope = scopeOf(caller)
        const isDeleted =
          isId(id) && (await inScope(pool, scope, (client) => deleteResponse(client, caller, id)))
        return isDeleted ? { body: { object: 'response', deleted: true } } : notFound
      },
    },
  ]
}

function writing(pool: Pool, keyPepper: string): Pick<ResponseRoute, 'bodyBytesMax' | 'handle'> {
  const proof = createWriteProof(keyPepper)
  return {
    bodyBytesMax: storedBytesMax + frameBytesMax,
    async handle({ caller, headers, body }) {
      const frame = readFrame(body)
      const secretHash = hashKey(findBearer(headers.authorization) as KeySecret, keyPepper)
      if (frame === undefined || !proof.isRight(headers[proofHeader], secretHash, frame.head))
        return notOfGateway
      const head = storedHead.parse(JSON.parse(frame.head)) // written by a gateway
      const parts = {
        input: frame.bytes.subarray(0, head.inputBytes),
        response: frame.bytes.subarray(head.inputBytes),
      }
      await inScope(pool, scopeOf(caller), (client) => storeResponse(client, caller, head, parts))
      return { body: { object: 'response', stored: true } }
    },
  }
}

function scopeOf({ organizationId }: ResponseOwner): Scope {
  return { actor: { kind: 'job', name: 'gateway' }, organizationId }
}

function answerOf(found: FoundResponses): Answer {
  if (found.kind !== 'found') return found.kind === 'not_found' ? notFound : tooLarge
  const heads = found.responses.map(
    ({ id, input, response }): FoundHead => ({
      id,
      inputBytes: input.length,
      responseBytes: response.length,
    }),
  )
  const parts = found.responses.flatMap(({ input, response }) => [input, response])
  return { bytes: writeFrame(JSON.stringify(heads), parts) }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
