import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { type Endpoint, endpoint, type Input } from '../api/endpoint.ts'
import { enqueueLetter, mayStrangersWrite } from '../mail/outbox.ts'
import * as store from './internal/notification-store.ts'
import { writeWebhookSecret } from './internal/webhook-signature.ts'
import * as contracts from './notification-contracts.ts'
import { enqueueWebhook } from './webhook-outbox.ts'

const secretBytes = 32

/** Endpoints for the alerts of an organization. `appUrl`: of links in emails. */
export function notificationEndpoints({
  pool,
  appUrl,
}: {
  readonly pool: Pool
  readonly appUrl: string
}): readonly Endpoint[] {
  return [
    endpoint(contracts.getNotifications, async ({ caller: { organizationId } }) => {
      const body = await inReadScope(pool, organizationId, (client) => show(client, organizationId))
      return { status: 200, body } as const
    }),
    endpoint(contracts.updateNotifications, async ({ caller, body, visit }) => {
      const { userId, organizationId } = caller
      return inScope(pool, scopeOfPerson(userId, organizationId, visit), async (client) => {
        await store.changeAlerts(client, organizationId, {
          budgets: body.budgets,
          spendSpike: body.spend_spike,
        })
        return { status: 200, body: await show(client, organizationId) } as const
      })
    }),
    endpoint(contracts.setWebhook, async ({ caller, body: { url }, visit }) => {
      const { userId, organizationId } = caller
      const secret = randomBytes(secretBytes)
      return inScope(pool, scopeOfPerson(userId, organizationId, visit), async (client) => {
        await store.changeWebhook(client, organizationId, { url, secret })
        const notifications = await show(client, organizationId)
        return { status: 200, body: { notifications, secret: writeWebhookSecret(secret) } } as const
      })
    }),
    endpoint(contracts.removeWebhook, async ({ caller, visit }) => {
      const { userId, organizationId } = caller
      await inScope(pool, scopeOfPerson(userId, organizationId, visit), (client) =>
        store.changeWebhook(client, organizationId, null),
      )
      return { status: 204 } as const
    }),
    endpoint(contracts.testNotifications, async (input) => {
      const { userId, organizationId } = input.caller
      return inScope(pool, scopeOfPerson(userId, organizationId, input.visit), (client) =>
        sendTest(client, appUrl, input),
      )
    }),
  ]
}

async function sendTest(
  client: ScopedClient,
  appUrl: string,
  { caller }: Input<typeof contracts.testNotifications>,
) {
  const { organizationId, email, locale } = caller
  if (!(await mayStrangersWrite(client, email))) return { problem: { code: 'too_many_emails' } } as const
  const { rows } = await client.query<{ name: string }>(
    'select coalesce(display_name, name) as name from organizations where id = $1',
    [organizationId],
  )
  const [organization] = rows
  if (organization === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  const vars = { organization: organization.name, link: `${appUrl}/app/settings` }
  await enqueueLetter(client, { kind: 'notification_test', vars, recipient: email, locale })
  const webhook = await enqueueWebhook(
    client,
    { type: 'test', data: { organization_id: organizationId } },
    new Date(),
  )
  return { status: 200, body: { email, webhook } } as const
}

async function show(client: Queryable, organizationId: string): Promise<contracts.ShownNotifications> {
  const { budgets, spendSpike, webhookUrl } = await store.readSettings(client, organizationId)
  const last = webhookUrl === null ? undefined : await store.readLastDelivery(client, organizationId)
  return {
    budgets,
    spend_spike: spendSpike,
    webhook:
      webhookUrl === null ? null : { url: webhookUrl, last_delivery: last ? shownDelivery(last) : null },
  }
}

function shownDelivery({ event, createdAt, sentAt, gaveUpAt, attempts, error }: store.LastDelivery) {
  const ended = gaveUpAt === null ? 'waiting' : 'failed'
  return {
    event,
    created_at: createdAt.toISOString(),
    status: sentAt === null ? ended : 'delivered',
    attempts,
    error_code: error,
  } as const
}
