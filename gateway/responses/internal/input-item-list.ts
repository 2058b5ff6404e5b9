import type { Refusal } from '#core/errors/refusal'
import type { KeptResponse } from '../../response-store/response-store.ts'
import { invalidValue } from '../../wire/errors.ts'
import { fieldsOf, findExactJson, type JsonObject, objectsIn } from '../../wire/json-fields.ts'

const limitDefault = 20
const limitMax = 100

/** The input items of a stored response, as OpenAI lists them: the newest first, unless `order` is `asc`. Pure. */
export function inputItemList(
  { id, input }: Pick<KeptResponse, 'id' | 'input'>,
  query: URLSearchParams,
): { readonly json: string } | { readonly refusal: Refusal } {
  const limit = Number(query.get('limit') ?? limitDefault)
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax)
    return { refusal: invalidValue('limit', `must be a whole number from 1 to ${limitMax}`) }
  const items = objectsIn(fieldsOf(findExactJson(input))?.items).map((item, at) => withId(item, id, at))
  if (query.get('order') !== 'asc') items.reverse()
  const after = query.get('after')
  const from = after === null ? 0 : items.findIndex((item) => item.id === after) + 1
  const data = items.slice(from, from + limit)
  return {
    json: JSON.stringify({
      object: 'list',
      data,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: from + data.length < items.length,
    }),
  }
}

/** Clients need not give their items ids. */
function withId(item: JsonObject, responseId: string, at: number): JsonObject {
  return typeof item.id === 'string' ? item : { id: `in_${responseId}_${at}`, ...item }
}
