import { orUnavailable } from '#core/db/availability'
import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import { type Price, priceSchema } from '#core/ledger/price'
import { priceJsonSql } from '#core/ledger/price-sql'
import { type RequestRecord, requestRecordSchema } from '#core/ledger/request-record'

/** One settled request, as posted now. */
export type SettledRequest = {
  readonly id: string
  /** When it was admitted, according to its ID. */
  readonly createdAt: Date
  readonly keyId: string
  readonly keyName: string | null
  readonly cost: NanoRub
  readonly record: RequestRecord
  /** The price it was posted at; `null` if nothing ran or the model is free. */
  readonly price: Price | null
}

type Row = {
  readonly createdAt: Date
  readonly keyId: string
  readonly keyName: string | null
  readonly cost: bigint
  readonly record: unknown
  readonly price: unknown
}

/**
 * A settled request of an organization. `undefined` if it is unknown, not settled yet, or of another organization.
 *
 * Reads only the partition of the time in the ID.
 *
 * @param requestId must be a UUID.
 * @throws PostgresUnavailable
 */
export async function findSettledRequest(
  client: Queryable,
  organizationId: string,
  requestId: string,
): Promise<SettledRequest | undefined> {
  const { rows } = await orUnavailable(
    client.query<Row>(
      `select r.ts as "createdAt", r.api_key_id as "keyId", k.name as "keyName", r.cost, r.record,
              case when p.id is not null then ${priceJsonSql('p')} end as price
         from requests r left join model_prices p on p.id = (r.record ->> 'priceId')::uuid
         left join api_keys k on k.id = r.api_key_id and k.organization_id = r.organization_id
        where r.id = $1 and r.ts = uuid_time($1) and r.organization_id = $2`,
      [requestId, organizationId],
    ),
  )
  const [row] = rows
  if (row === undefined) return undefined
  return {
    id: requestId,
    createdAt: row.createdAt,
    keyId: row.keyId,
    keyName: row.keyName,
    cost: nanoRub(row.cost),
    record: requestRecordSchema.parse(row.record),
    price: priceSchema.nullable().parse(row.price),
  }
}
