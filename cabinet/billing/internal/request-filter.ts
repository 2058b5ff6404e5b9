import { z } from 'zod'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import { keyTagPattern, readKeysTagged } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import { requestIdOf } from '#core/ledger/request-id'
import { outcomeOfSought, soughtOutcome } from '#core/ledger/request-record'
import { oldNamesEndIn, renamed } from '#core/process/renamed'
import { id } from '../../api/fields.ts'
import { rublesFrom } from '../rubles.ts'
import type { RequestFilter } from './request-rows.ts'
import { readSpan, spanEnd } from './span.ts'

/** Longer than any model, provider or error code. */
const textLengthMax = 253
/** `chatcmpl-` and a UUID, with room for spaces around them. */
const idLengthMax = 64
/** 100 million rubles: more than a request can cost. */
const costMax = nanoRub(100_000_000_000_000_000n)

const text = z
  .string()
  .max(textLengthMax)
  .refine((given) => !given.includes('\0'))

/** A tag, or "-". */
const tagSought = z.union([z.literal('-'), z.string().regex(keyTagPattern)])

/** What counts as an error, in the API's description. */
export const errorMeaning =
  'the client got an error: a status of 400 or more except 499 (the client disconnected), or a response that the provider interrupted.'

/** The parameters by which lists of requests are filtered. All that are given must match. */
export const requestFilter = {
  key_id: id.optional(),
  tag: tagSought
    .optional()
    .meta({ description: 'Of a key that has this tag now. "-": of a key without tags.' }),
  model: text
    .optional()
    .meta({ description: 'The model that ran, or the requested model if none ran: its whole name.' }),
  model_contains: text
    .optional()
    .meta({ description: 'A part of the name of that model, in upper or lower case.' }),
  provider: text.optional().meta({
    description:
      'The provider of the last attempt: its whole name, in upper or lower case. "-": no provider was called.',
  }),
  outcome: soughtOutcome.optional().meta({
    description: `Deprecated until ${oldNamesEndIn}: ${Object.values(renamed.outcomes).join(', ')}.`,
  }),
  status: z
    .string()
    .regex(/^(?:[1-5](?:\d\d|xx)|error)$/)
    .optional()
    .meta({
      description: `The HTTP status of the response, or a class of them. "error": ${errorMeaning}`,
      examples: ['429', '5xx', 'error'],
    }),
  error_code: text.optional().meta({ description: 'The whole code of the error that the client received.' }),
  cost_from: rublesFrom(nanoRub(0n), costMax)
    .optional()
    .meta({ description: 'Costs at least this, in rubles.' }),
  cost_to: rublesFrom(nanoRub(0n), costMax)
    .optional()
    .meta({ description: 'Costs at most this, in rubles.' }),
  id_contains: z
    .string()
    .max(idLengthMax)
    .refine((given) => !given.includes('\0'))
    .optional()
    .meta({ description: 'A part of the ID of the request, or all of the ID of its response.' }),
  from: spanEnd.optional(),
  to: spanEnd.optional(),
}

const asObject = z.strictObject(requestFilter)

/** The filter that a query describes, with its days in the organization's time zone. */
export async function readRequestFilter(
  client: Queryable,
  organizationId: string,
  query: z.output<typeof asObject>,
): Promise<RequestFilter> {
  const { outcome } = query
  return {
    ...(await readSpan(client, organizationId, query)),
    keyId: query.key_id?.toLowerCase(),
    ...(query.tag !== undefined && {
      keyIds: await readKeysTagged(client, organizationId, query.tag === '-' ? undefined : query.tag),
    }),
    model: query.model,
    modelContains: query.model_contains?.toLowerCase(),
    provider: query.provider?.toLowerCase(),
    outcome: outcome === undefined ? undefined : outcomeOfSought(outcome),
    status: query.status,
    errorCode: query.error_code?.toLowerCase(),
    costFrom: query.cost_from,
    costTo: query.cost_to,
    ...idSoughtBy(query.id_contains),
  }
}

/** A whole id is looked up; a part of one is searched for. Pure. */
function idSoughtBy(given: string | undefined): Pick<RequestFilter, 'id' | 'idContains'> {
  const sought = given === undefined ? '' : requestIdOf(given.trim().toLowerCase())
  if (isId(sought)) return { id: sought }
  return sought === '' ? {} : { idContains: sought }
}
