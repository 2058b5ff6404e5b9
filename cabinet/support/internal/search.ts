import type { Pool } from 'pg'
import type { z } from 'zod'
import { ArchiveUnavailable } from '#core/archive/archive-store'
import { inReadScope, inScope, scopeOfAdministrator } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { RedisServers } from '#core/redis/redis-connection'
import type { Administrator } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'
import type { AllEntries } from '../../billing/all-entries.ts'
import type { AllRequests } from '../../billing/all-requests.ts'
import { getRequest } from '../../billing/request-contracts.ts'
import { getRefusal } from '../../keys/key-contracts.ts'
import { readPaymentsById } from '../../payments/found-payments.ts'
import type { searchCustomers } from '../customer-contracts.ts'
import { readOrganizations, readUsers } from './admin-reads.ts'
import { emailOf, readEmailsTo } from './email-rows.ts'
import { findOrganizationOfRejection } from './find-rejection.ts'
import type { MemberReads } from './member-reads.ts'
import {
  findKeys,
  findOrganizationIds,
  findOrganizationOfRequest,
  findPayments,
  findUserIds,
  foundMax,
  readLedgerOf,
  shownEntry,
} from './search-rows.ts'
import { readSearchText, type Sought } from './search-text.ts'
import { organizationOf, userOf } from './shown.ts'

type Found = z.input<(typeof searchCustomers.answers)[200]>
type Deps = {
  readonly pool: Pool
  readonly redis: RedisServers
  readonly requests: AllRequests
  readonly entries: AllEntries
  readonly reads: MemberReads
}
type Asked = { readonly caller: Administrator; readonly visit: Visit; readonly text: string }

/** Everything that a text leads to. The audit log gets what was found, and never the text: it may be an address. */
export async function search(deps: Deps, { caller, visit, text }: Asked): Promise<Found> {
  const { pool } = deps
  const sought = readSearchText(text)
  const found = await inReadScope(pool, null, (client) => findRows(client, sought))
  const { receipts, isAway } =
    sought.by === 'id' ? await findReceipts(deps, caller, visit, sought.id) : noReceipt
  const isElse = receipts.length > 0 || Object.values(found).some((list) => list.length > 0)
  const rejections = sought.by === 'id' && !isElse ? await findRejections(deps, caller, visit, sought.id) : []
  const older = await findOlderCharges(deps, receipts, found.ledger)
  const ledger = [...older.charges, ...found.ledger]
  const all = {
    by: sought.by,
    is_archive_away: isAway || older.isAway,
    receipts,
    rejections,
    ...found,
    ledger,
  }
  await noteSearch(pool, caller, visit, all)
  return all
}

async function findRows(
  client: Queryable,
  sought: Sought,
): Promise<Omit<Found, 'by' | 'is_archive_away' | 'receipts' | 'rejections'>> {
  switch (sought.by) {
    case 'id':
      return findById(client, sought)
    case 'key':
      return { ...nothing, keys: await findKeys(client, sought) }
    case 'email':
      return {
        ...nothing,
        users: await showUsers(client, await findUserIds(client, sought)),
        emails: (await readEmailsTo(client, sought.email, foundMax)).map(emailOf),
      }
    case 'name': {
      const { paymentIds, refIds } = await findPayments(client, { id: null, providerId: sought.name })
      return {
        ...nothing,
        payments: [...(await readPaymentsById(client, paymentIds))],
        ledger: await readLedgerOf(client, refIds),
        organizations: await showOrganizations(client, await findOrganizationIds(client, sought)),
      }
    }
  }
}

const nothing = { payments: [], ledger: [], keys: [], users: [], organizations: [], emails: [] }

async function findById(client: Queryable, { id, isRequest }: Extract<Sought, { readonly by: 'id' }>) {
  if (isRequest) return { ...nothing, ledger: await readLedgerOf(client, [id]) }
  const { paymentIds, refIds } = await findPayments(client, { id, providerId: id })
  return {
    ...nothing,
    payments: [...(await readPaymentsById(client, paymentIds))],
    ledger: await readLedgerOf(client, [id, ...refIds]),
    keys: await findKeys(client, { id }),
    users: await showUsers(client, await findUserIds(client, { id })),
    organizations: await showOrganizations(client, await findOrganizationIds(client, { id })),
  }
}

async function showUsers(client: Queryable, ids: readonly string[]) {
  return ids.length === 0 ? [] : (await readUsers(client, { ids, limit: foundMax })).map(userOf)
}

async function showOrganizations(client: Queryable, ids: readonly string[]) {
  return ids.length === 0
    ? []
    : (await readOrganizations(client, { ids, limit: foundMax })).map(organizationOf)
}

const noReceipt = { receipts: [], isAway: false }

async function findReceipts(
  { pool, requests, reads }: Deps,
  caller: Administrator,
  visit: Visit,
  requestId: string,
): Promise<{ readonly receipts: Found['receipts']; readonly isAway: boolean }> {
  const recent = await inReadScope(pool, null, (client) => findOrganizationOfRequest(client, requestId))
  const organization = recent ?? (await findOrganizationOfOlder({ pool, requests }, requestId))
  if (organization === 'away') return { receipts: [], isAway: true }
  if (organization === undefined) return noReceipt
  const { id: organizationId, name } = organization
  const answer = await reads(getRequest, {
    caller,
    visit,
    organizationId,
    params: { request_id: requestId },
  })
  if ('problem' in answer) return noReceipt
  const receipt = { ...answer.body, organization_id: organizationId, organization_name: name }
  return { receipts: [receipt], isAway: false }
}

/** Charges of these requests that left Postgres. */
async function findOlderCharges(
  { entries }: Deps,
  receipts: Found['receipts'],
  recent: Found['ledger'],
): Promise<{ readonly charges: Found['ledger']; readonly isAway: boolean }> {
  const older = receipts.filter(
    ({ id }) => !recent.some(({ kind, ref_id }) => kind === 'charge' && ref_id === id),
  )
  const found = await Promise.all(
    older.map(async ({ id, organization_id }) => ({
      organization_id,
      charge: await entries.findCharge(organization_id, id).catch(awayIfUnavailable),
    })),
  )
  const charges = found.flatMap(({ organization_id, charge }) =>
    charge === undefined || charge === 'away' ? [] : [{ organization_id, ...shownEntry(charge) }],
  )
  return { charges, isAway: found.some(({ charge }) => charge === 'away') }
}

async function findOrganizationOfOlder(
  { pool, requests }: Pick<Deps, 'pool' | 'requests'>,
  requestId: string,
): Promise<{ readonly id: string; readonly name: string } | 'away' | undefined> {
  const id = await requests.findOrganization(requestId).catch(awayIfUnavailable)
  if (id === undefined || id === 'away') return id
  const [organization] = await inReadScope(pool, null, (client) =>
    readOrganizations(client, { ids: [id], limit: 1 }),
  )
  return organization
}

function awayIfUnavailable(error: unknown): 'away' {
  if (!(error instanceof ArchiveUnavailable)) throw error
  return 'away'
}

async function findRejections(
  { reads, ...stores }: Deps,
  caller: Administrator,
  visit: Visit,
  requestId: string,
): Promise<Found['rejections']> {
  const organization = await findOrganizationOfRejection(stores, requestId)
  if (organization === undefined) return []
  const { id: organizationId, name } = organization
  const params = { request_id: requestId }
  const answer = await reads(getRefusal, { caller, visit, organizationId, params })
  if ('problem' in answer) return []
  return [{ ...answer.body, organization_id: organizationId, organization_name: name }]
}

async function noteSearch(pool: Pool, caller: Administrator, visit: Visit, found: Found): Promise<void> {
  const { by, receipts, payments, keys, users, organizations, emails } = found
  const rejected = found.rejections.map(({ request_id: id }) => ({ id }))
  const ids = [...receipts, ...rejected, ...payments, ...keys, ...users, ...organizations, ...emails].map(
    ({ id }) => id,
  )
  const scope = scopeOfAdministrator(caller.administratorId, visit)
  await inScope(pool, scope, (client) =>
    client.change('select', [], () => ({
      action: 'customer.search',
      subject: { kind: 'Search', id: by },
      organizationId: null,
      before: null,
      after: { found: ids },
    })),
  )
}
