import type { Pool } from 'pg'
import { readOrganizationSums } from '#core/admission/organization-sums'
import type { ArchiveStore } from '#core/archive/archive-store'
import { inReadScope } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { readOrganizationBudgets } from '#core/ledger/organization-budgets'
import type { RedisServers } from '#core/redis/redis-connection'
import type { Contract } from '../api/contract.ts'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { toPage } from '../api/page.ts'
import { notFound } from '../api/problem.ts'
import { allEntries } from '../billing/all-entries.ts'
import { allRequests } from '../billing/all-requests.ts'
import { getBalance, listLedger } from '../billing/ledger-contracts.ts'
import { ledgerEndpoints } from '../billing/ledger-endpoints.ts'
import { showBudget } from '../billing/organization-budget.ts'
import { getRequest, listRequests } from '../billing/request-contracts.ts'
import { requestEndpoints } from '../billing/request-endpoints.ts'
import { listKeys, listRefusals } from '../keys/key-contracts.ts'
import { keyReadingEndpoints } from '../keys/key-endpoints.ts'
import { showAutoTopUp } from '../payments/shown-auto-top-up.ts'
import * as contracts from './customer-contracts.ts'
import { readOrganizations, readUsers } from './internal/admin-reads.ts'
import { emailEndpoints } from './internal/email-endpoints.ts'
import { memberReads } from './internal/member-reads.ts'
import { noteView, type OfOrganization } from './internal/note-view.ts'
import { search } from './internal/search.ts'
import { organizationOf, userOf } from './internal/shown.ts'
import { readTimeline, showFacts } from './internal/timeline.ts'

type CustomerDeps = {
  readonly pool: Pool
  readonly redis: RedisServers
  readonly archive?: ArchiveStore | undefined
}

/** Most members that a customer's page shows. */
const membersMax = 100

/** Endpoints that show administrators what a customer sees, and what happened to them. Each view is audited. */
export function customerEndpoints({ pool, redis, archive }: CustomerDeps): readonly Endpoint[] {
  const readLiveSums = (organization: string) => readOrganizationSums(redis, organization)
  const reads = memberReads([
    ...ledgerEndpoints({ pool, archive, readLiveSums }),
    ...requestEndpoints({ pool, archive }),
    ...keyReadingEndpoints({ pool, redis }),
  ])

  /** An endpoint of members, for the organization in the path. */
  function asMember(contract: Contract, ofMember: Contract): Endpoint {
    return {
      contract,
      handle: async (input: OfOrganization & { readonly query?: object }) => {
        const { organization_id: organizationId } = input.params
        if (!(await noteView(pool, input, contract.operation))) return notFound
        return reads(ofMember, { ...input, organizationId })
      },
    } as Endpoint
  }

  return [
    endpoint(contracts.searchCustomers, async ({ caller, visit, body }) => ({
      status: 200,
      body: await search(
        { pool, redis, requests: allRequests(pool, archive), entries: allEntries(pool, archive), reads },
        { caller, visit, text: body.text },
      ),
    })),

    endpoint(contracts.readCustomer, async (input) => {
      const { organization_id } = input.params
      if (!(await noteView(pool, input, contracts.readCustomer.operation))) return notFound
      const body = await inReadScope(pool, null, (client) => readCustomer(client, organization_id))
      return body === undefined ? notFound : ({ status: 200, body } as const)
    }),

    endpoint(contracts.readTimeline, async (input) => {
      const { organization_id } = input.params
      const { cursor, limit } = input.query
      if (!(await noteView(pool, input, contracts.readTimeline.operation))) return notFound
      const events = await inReadScope(pool, null, (client) =>
        readTimeline(client, organization_id, { after: cursor, limit: limit + 1 }),
      )
      const body = toPage(
        events,
        limit,
        ({ at, kind, key, facts }) => ({ at: at.toISOString(), kind, id: key, facts: showFacts(facts) }),
        ({ position, key }) => [position, key],
      )
      return { status: 200, body } as const
    }),

    ...emailEndpoints(pool),

    asMember(contracts.readCustomerBalance, getBalance),
    asMember(contracts.listCustomerKeys, listKeys),
    asMember(contracts.listCustomerRefusals, listRefusals),
    asMember(contracts.listCustomerRequests, listRequests),
    asMember(contracts.readCustomerRequest, getRequest),
    asMember(contracts.listCustomerLedger, listLedger),
  ]
}

async function readCustomer(client: Queryable, organizationId: string) {
  const [organization] = await readOrganizations(client, { ids: [organizationId], limit: 1 })
  if (organization === undefined) return undefined
  const { rows } = await client.query<{ id: string }>(
    'select user_id as id from memberships where organization_id = $1 limit $2',
    [organizationId, membersMax],
  )
  const members = await readUsers(client, { ids: rows.map(({ id }) => id), limit: membersMax })
  const budgets = await readOrganizationBudgets(client, organizationId)
  return {
    organization: organizationOf(organization),
    members: members.map(userOf),
    budgets: budgets.map(showBudget),
    auto_top_up: await showAutoTopUp(client, organizationId),
  }
}
