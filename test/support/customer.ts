import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { KeyLimits } from '#core/keys/key-state'
import { createKey } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import type { BatchEntry } from '#core/ledger/post-batch'
import { noTokens, type TokenClasses } from '#core/ledger/price'
import type { RequestRecord } from '#core/ledger/request-record'
import { createOrganization } from '#core/organizations/organization-store'
import { inTestScope } from './scope.ts'

/** Pepper of keys in tests. */
export const pepper = 'pepper of the tests, 32 characters long'

/** Whom charges are posted to. */
export type KeyOwner = { readonly organizationId: string; readonly keyId: string }

export type Customer = KeyOwner & { readonly key: string }

/** A new organization with one key and, optionally, money. */
export async function createCustomer(
  pool: Pool,
  { balanceNano, ...limits }: KeyLimits & { readonly balanceNano?: bigint } = {},
): Promise<Customer> {
  const organizationId = await createOrganizationWith(pool, balanceNano)
  const { keyId, secret } = await inTestScope(pool, (client) =>
    createKey(client, { organizationId, name: 'test', managedBy: 'cabinet', ...limits }, pepper),
  )
  return { organizationId, keyId, key: secret }
}

/** The same in a database of an older release, whose keys lack columns; the key cannot be used. */
export async function createOlderCustomer(pool: Pool, balanceNano: bigint): Promise<KeyOwner> {
  const organizationId = await createOrganizationWith(pool, balanceNano)
  const keyId = uuidV7()
  await pool.query(
    `insert into api_keys (id, organization_id, name, managed_by) values ($1, $2, 'test', 'cabinet')`,
    [keyId, organizationId],
  )
  return { organizationId, keyId }
}

async function createOrganizationWith(pool: Pool, balanceNano = 0n): Promise<string> {
  const { id: organizationId } = await inTestScope(pool, (client) =>
    createOrganization(client, `org-${randomBytes(6).toString('hex')}`),
  )
  if (balanceNano !== 0n)
    await inTestScope(pool, (client) =>
      credit(client, {
        organizationId,
        kind: 'adjustment',
        refId: randomUUID(),
        amount: nanoRub(balanceNano),
      }),
    )
  return organizationId
}

/** A UUIDv7 of this instant, or of another. */
export function uuidV7(atMs: number = Date.now()): string {
  const hex = atMs.toString(16).padStart(12, '0') + randomBytes(10).toString('hex')
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The record of a completed chat request; `fields` say what is special about it. */
export function recordOf(
  fields: Partial<Omit<RequestRecord, 'tokens'>> & { readonly tokens?: Partial<TokenClasses> } = {},
): RequestRecord {
  const { tokens, ...rest } = fields
  const model = fields.modelRan ?? 'demo/echo'
  return {
    endpoint: 'chat',
    modelAsked: model,
    modelRan: model,
    outcome: 'completed',
    status: 200,
    errorCode: null,
    stream: false,
    priceId: null,
    usageSource: 'provider',
    attempts: [{ model, provider: 'demo', backend: 'demo', result: 'answered', ms: 40 }],
    droppedParameters: [],
    outputLimit: null,
    firstContentMs: 30,
    totalMs: 42,
    ...rest,
    tokens: { ...noTokens, ...tokens },
  }
}

/**
 * The correction of a gateway that sent its client an error, and does not know whether the charge was posted.
 */
export function takenBack(entry: BatchEntry): BatchEntry {
  const record = {
    ...entry.record,
    outcome: 'unsettled',
    status: 503,
    errorCode: 'service_unavailable',
  } as const
  return { ...entry, chargeKind: 'corrected', costNano: 0n, record }
}

/** A stream entry of a customer's request as settlement would post it; today by default. */
export function entryOf(customer: KeyOwner, costNano: bigint, fields: Partial<BatchEntry> = {}): BatchEntry {
  return {
    requestId: uuidV7(),
    chargeKind: 'settled',
    organizationId: customer.organizationId,
    keyId: customer.keyId,
    day: Math.floor((Date.now() + 3 * 3_600_000) / 86_400_000),
    costNano,
    record: recordOf({ tokens: { input: 100, output: 20 } }),
    ...fields,
  }
}
