import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfPerson } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { type Endpoint, endpoint, type Input } from '../api/endpoint.ts'
import { enqueueLetter, mayStrangersWrite } from '../mail/outbox.ts'
import { enqueueAlert } from './alert-outbox.ts'
import * as store from './internal/notification-store.ts'
import * as telegram from './internal/telegram-links.ts'
import { writeWebhookSecret } from './internal/webhook-signature.ts'
import * as contracts from './notification-contracts.ts'

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
    endpoint(contracts.linkTelegram, async ({ caller, visit }) => {
      const { userId, organizationId, locale } = caller
      return inScope(pool, scopeOfPerson(userId, organizationId, visit), async (client) => {
        const bot = await telegram.findBotName(client)
        if (bot === undefined) return { problem: { code: 'not_found' } } as const
        const { code, expiresAt } = await telegram.createLinkCode(client, { userId, organizationId, locale })
        const body = { url: `https://t.me/${bot}?start=${code}`, expires_at: expiresAt.toISOString() }
        return { status: 200, body } as const
      })
    }),
    endpoint(contracts.unlinkTelegram, async ({ caller, visit }) => {
      const { userId, organizationId } = caller
      await inScope(pool, scopeOfPerson(userId, organizationId, visit), (client) =>
        telegram.unlinkChat(client, organizationId),
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
  const sent = await enqueueAlert(
    client,
    { type: 'test', data: { organization_id: organizationId } },
    new Date(),
  )
  return { status: 200, body: { email, ...sent } } as const
}

async function show(client: Queryable, organizationId: string): Promise<contracts.ShownNotifications> {
  const { budgets, spendSpike, webhookUrl } = await store.readSettings(client, organizationId)
  const last = webhookUrl === null ? undefined : await store.readLastDelivery(client, organizationId)
  return {
    budgets,
    spend_spike: spendSpike,
    webhook:
      webhookUrl === null ? null : { url: webhookUrl, last_delivery: last ? shownDelivery(last) : null },
    telegram: await showTelegram(client, organizationId),
  }
}

async function showTelegram(
  client: Queryable,
  organizationId: string,
): Promise<contracts.ShownNotifications['telegram']> {
  const link = await telegram.findLink(client, organizationId)
  if (link === undefined && (await telegram.findBotName(client)) === undefined) return null
  const { linkedAt = null, chatName = null, endedReason = null } = link ?? {}
  const last = chatName === null ? undefined : await store.readLastMessage(client, organizationId)
  const ended = endedReason === null ? 'off' : 'ended'
  return {
    status: linkedAt === null ? ended : 'linked',
    chat_name: chatName,
    ended_reason: endedReason,
    last_delivery: last ? shownDelivery(last) : null,
  }
}

function shownDelivery<Event>({
  event,
  createdAt,
  sentAt,
  gaveUpAt,
  attempts,
  error,
}: store.LastDelivery<Event>) {
  const ended = gaveUpAt === null ? 'waiting' : 'failed'
  return {
    event,
    created_at: createdAt.toISOString(),
    status: sentAt === null ? ended : 'delivered',
    attempts,
    error_code: error,
  } as const
}
