import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type Scope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import { readKeyState } from '#core/keys/key-state'
import { blockKey, unblockKey } from '#core/keys/key-store'
import { listActiveKeysMadeBy } from '#core/keys/made-keys'
import { setOrganizationBlocked, waitForOrganizationKeys } from '#core/keys/organization-block'
import type { ProgrammedKeys } from '#core/keys/programmed-keys'
import { credit } from '#core/ledger/credit'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { Administrator } from '../api/access.ts'
import { type Endpoint, endpoint, type Input, type Output, type Visit } from '../api/endpoint.ts'
import { once } from '../api/once.ts'
import { toPage } from '../api/page.ts'
import { notFound } from '../api/problem.ts'
import type { ShownApproval } from '../approvals/approval-contracts.ts'
import { orderMoney } from '../approvals/money-order.ts'
import { setBlocked, signOutEverywhere } from '../people/user-block.ts'
import {
  adjustBalance,
  blockKeyByAdmin,
  blockOrganization,
  blockUser,
  deleteUser,
  endUserSessions,
  listOrganizations,
  listUsers,
  unblockKeyByAdmin,
  unblockOrganization,
  unblockUser,
} from './administration-contracts.ts'
import { type AdminUser, readOrganizations, readUsers } from './internal/admin-reads.ts'
import { auditEndpoints } from './internal/audit-endpoints.ts'
import { deleteAccount } from './internal/delete-account.ts'
import { organizationOf, userOf } from './internal/shown.ts'

type AdministrationDeps = {
  readonly pool: Pool
  readonly programmed: ProgrammedKeys
  /** What one administrator may move for one organization in 24 hours. */
  readonly aloneMax: NanoRub
  /** Whether the data plane has the balance at an account's version, or will have it soon. */
  readonly waitForBalance: (organizationId: string, version: bigint) => Promise<boolean>
}

/** Endpoints for administrators. The audit log records the reason for each change. */
export function administrationEndpoints(deps: AdministrationDeps): readonly Endpoint[] {
  const { pool } = deps
  return [
    endpoint(listUsers, async ({ query: { email, limit, cursor } }) => {
      const users = await inReadScope(pool, null, (client) =>
        readUsers(client, { email, after: cursor, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(users, limit, userOf, ({ position, id }) => [position, id]) }
    }),

    endpoint(blockUser, ({ caller, visit, params, body }) =>
      changeBlock(pool, scopeOf(caller, visit, body), params.user_id, async (client, userId) => {
        await setBlocked(client, userId, 'blocked')
        if (body.block_keys) await blockKeysMadeBy(client, userId)
      }),
    ),

    endpoint(unblockUser, ({ caller, visit, params, body }) =>
      changeBlock(pool, scopeOf(caller, visit, body), params.user_id, (client, userId) =>
        setBlocked(client, userId, 'free'),
      ),
    ),

    endpoint(endUserSessions, ({ caller, visit, params, body }) =>
      changeBlock(pool, scopeOf(caller, visit, body), params.user_id, signOutEverywhere),
    ),

    ...deletionEndpoints(pool),

    endpoint(listOrganizations, async ({ query: { name, limit, cursor } }) => {
      const organizations = await inReadScope(pool, null, (client) =>
        readOrganizations(client, { name, after: cursor, limit: limit + 1 }),
      )
      return {
        status: 200,
        body: toPage(organizations, limit, organizationOf, ({ position, id }) => [position, id]),
      }
    }),

    ...organizationBlockEndpoints(pool),

    endpoint(adjustBalance, (input) => changeBalance(deps, input)),

    endpoint(blockKeyByAdmin, ({ caller, visit, params, body }) =>
      changeKey(deps, scopeOf(caller, visit, body), params.key_id, blockKey),
    ),

    endpoint(unblockKeyByAdmin, ({ caller, visit, params, body }) =>
      changeKey(deps, scopeOf(caller, visit, body), params.key_id, unblockKey),
    ),

    ...auditEndpoints(pool),
  ]
}

function deletionEndpoints(pool: Pool): readonly Endpoint[] {
  return [
    endpoint(deleteUser, async ({ caller, visit, params, body }) => {
      if (!isId(params.user_id)) return notFound
      const deleted = await inScope(pool, scopeOf(caller, visit, body), async (client) => {
        const [user] = await readUsers(client, { ids: [params.user_id], limit: 1 })
        if (user === undefined || user.deletedAt !== null) return notFound
        if (user.email.toLowerCase() !== body.email.trim().toLowerCase()) return otherAddress[visit.locale]
        return deleteAccount(client, user.id)
      })
      if ('problem' in deleted) return deleted
      await Promise.all(deleted.map((organizationId) => waitForOrganizationKeys(pool, organizationId)))
      return { status: 204 }
    }),
  ]
}

const otherAddress = {
  en: differs('must be the address of this user'),
  ru: differs('должно быть адресом этого пользователя'),
}

function differs(message: string) {
  return {
    problem: { code: 'validation_failed', errors: [{ path: 'email', code: 'other_address', message }] },
  } as const
}

function organizationBlockEndpoints(pool: Pool): readonly Endpoint[] {
  return [
    endpoint(blockOrganization, ({ caller, visit, params, body }) =>
      changeOrganization(pool, scopeOf(caller, visit, body), params.organization_id, 'blocked'),
    ),
    endpoint(unblockOrganization, ({ caller, visit, params, body }) =>
      changeOrganization(pool, scopeOf(caller, visit, body), params.organization_id, 'free'),
    ),
  ]
}

function scopeOf(
  { administratorId }: Administrator,
  visit: Visit,
  { reason }: { readonly reason: string },
): Scope {
  return scopeOfAdministrator(administratorId, visit, reason)
}

async function changeBlock(
  pool: Pool,
  scope: Scope,
  userId: string,
  change: (client: ScopedClient, userId: string) => Promise<void>,
) {
  if (!isId(userId)) return notFound
  const user = await inScope(pool, scope, async (client) => {
    await change(client, userId)
    return findUser(client, userId)
  })
  return user === undefined ? notFound : ({ status: 200, body: userOf(user) } as const)
}

/** The audit log records each block separately. The data plane applies them within a second. */
async function blockKeysMadeBy(client: ScopedClient, userId: string): Promise<void> {
  for (const keyId of await listActiveKeysMadeBy(client, userId)) await blockKey(client, keyId, 'admin')
}

async function findUser(client: Queryable, id: string): Promise<AdminUser | undefined> {
  const [user] = await readUsers(client, { ids: [id], limit: 1 })
  return user
}

async function changeOrganization(
  pool: Pool,
  scope: Scope,
  organizationId: string,
  state: 'blocked' | 'free',
) {
  if (!isId(organizationId)) return notFound
  const organization = await inScope(pool, scope, async (client) => {
    await setOrganizationBlocked(client, organizationId, state)
    const [found] = await readOrganizations(client, { ids: [organizationId], limit: 1 })
    return found
  })
  if (organization === undefined) return notFound
  const programmed = await waitForOrganizationKeys(pool, organizationId)
  const body = { ...organizationOf(organization), programmed }
  return programmed ? ({ status: 200, body } as const) : ({ status: 202, body } as const)
}

async function changeKey(
  { pool, programmed }: AdministrationDeps,
  scope: Scope,
  keyId: string,
  change: (client: ScopedClient, keyId: string, by: 'admin') => Promise<void>,
) {
  if (!isId(keyId)) return notFound
  const key = await inScope(pool, scope, async (client) => {
    await change(client, keyId, 'admin')
    return readKeyState(client, keyId)
  })
  if (key === undefined || key.revoked) return notFound
  const isProgrammed = await programmed.wait(keyId)
  const body = { id: keyId, blocked_by: [...key.blockedBy], programmed: isProgrammed }
  return isProgrammed ? ({ status: 200, body } as const) : ({ status: 202, body } as const)
}

async function changeBalance(
  { pool, aloneMax, waitForBalance }: AdministrationDeps,
  { caller, visit, params, body, idempotency }: Input<typeof adjustBalance>,
): Promise<Output<typeof adjustBalance>> {
  const { organization_id } = params
  if (!isId(organization_id)) return notFound
  const order = {
    id: randomUUID(),
    kind: 'adjustment',
    organizationId: organization_id,
    amount: nanoRub(body.amount_rub),
    reason: body.reason,
  } as const
  const answer = await inScope(pool, scopeOf(caller, visit, body), (client) =>
    once<Adjusted, Kept>(client, caller, idempotency, async () => {
      if (!(await isOrganization(client, organization_id))) return notFound
      const ordered = await orderMoney(client, caller, order, aloneMax)
      const adjusted = ordered === 'carry_out' ? await adjust(client, order) : { approval: ordered }
      const done = { status: 201, body: adjusted }
      return { fresh: done, kept: done }
    }),
  )
  if ('problem' in answer) return answer
  if ('approval' in answer.body) return { status: 202, body: answer.body.approval }
  const { version, ...adjusted } = answer.body
  const programmed = await waitForBalance(organization_id, BigInt(version))
  return { status: 201, body: { ...adjusted, programmed } }
}

type Kept = { readonly status: number; readonly body: Adjusted }

type Adjusted = Awaited<ReturnType<typeof adjust>> | { readonly approval: ShownApproval }

async function isOrganization(client: ScopedClient, id: string): Promise<boolean> {
  const { rowCount } = await client.query('select from organizations where id = $1', [id])
  return rowCount === 1
}

async function adjust(
  client: ScopedClient,
  {
    id,
    organizationId,
    amount,
  }: { readonly id: string; readonly organizationId: string; readonly amount: NanoRub },
) {
  const { balance, version } = await credit(client, { organizationId, kind: 'adjustment', refId: id, amount })
  return {
    id,
    organization_id: organizationId,
    amount_rub: formatRub(amount),
    balance_rub: formatRub(balance),
    // A repeated call waits for this version, too.
    version: String(version),
  }
}
