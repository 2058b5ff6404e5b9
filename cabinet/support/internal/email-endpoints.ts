import type { Pool } from 'pg'
import { inReadScope, inScope, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { toPage } from '../../api/page.ts'
import { notFound } from '../../api/problem.ts'
import * as contracts from '../customer-contracts.ts'
import { emailOf, readEmailsOf } from './email-rows.ts'
import { noteView } from './note-view.ts'
import { resendEmail } from './resend.ts'

/** Endpoints for the emails that an organization's members and invited addresses got. */
export function emailEndpoints(pool: Pool): readonly Endpoint[] {
  return [
    endpoint(contracts.listCustomerEmails, async (input) => {
      const { organization_id } = input.params
      const { cursor, limit } = input.query
      if (!(await noteView(pool, input, contracts.listCustomerEmails.operation))) return notFound
      const emails = await inReadScope(pool, null, (client) =>
        readEmailsOf(client, organization_id, { after: cursor, limit: limit + 1 }),
      )
      const body = toPage(emails, limit, emailOf, ({ position, id }) => [position, id])
      return { status: 200, body } as const
    }),

    endpoint(contracts.resendCustomerEmail, async ({ caller, visit, params, body: { reason } }) => {
      const { organization_id, email_id } = params
      if (!isId(organization_id) || !isId(email_id)) return notFound
      const scope = scopeOfAdministrator(caller.administratorId, visit, reason)
      const failed = await inScope(pool, scope, (client) => resendEmail(client, organization_id, email_id))
      return failed ?? { status: 204 }
    }),
  ]
}
