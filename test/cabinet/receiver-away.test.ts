import { randomUUID } from 'node:crypto'
import { afterAll, expect, test, vi } from 'vitest'
import { formatRub, nanoRub } from '#core/ledger/money'
import { findFreePort } from '#standalone/port'
import { startTill } from '#standalone/yookassa/start-till'
import { makePayer } from '../support/payer.ts'
import { urlAs } from '../support/postgres.ts'
import { startProcess } from '../support/processes.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { driveTill, shopSettingsOf, testShop } from '../support/till.ts'
import { appUrl } from '../support/web-settings.ts'

// Receiver, worker and web as processes, each of which goes away while the others do not.
const secret = 'secret-of-the-webhook-in-these-tests'
const stack = await stackOfThisFile()
const { pool } = stack.database
const receiverPort = await findFreePort()
const till = await startTill({
  ...testShop,
  notifyUrl: `http://127.0.0.1:${receiverPort}/webhooks/yookassa?secret=${secret}`,
})
const drive = driveTill(till.url)
const shopEnv = shopSettingsOf(till)
let receiver = await startReceiver()
const [web] = await Promise.all([stack.startWeb(shopEnv), stack.startWorker(shopEnv)])
afterAll(async () => {
  await receiver.kill()
  await till.stop()
})

function startReceiver() {
  return startProcess('cabinet/webhook/main.ts', {
    DATABASE_URL: urlAs('model_gateway_webhook', stack.database.url),
    WEBHOOK_SECRET: secret,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_PORT: String(receiverPort),
    WEBHOOK_ADMIN_PORT: '0',
    WEBHOOK_HOST: '127.0.0.1',
  })
}

/** A user with an unpaid payment. */
async function beginPayment(amount: string) {
  const { organizationId, cookie } = await makePayer(pool)
  const response = await fetch(`${new URL(web.baseUrl).origin}/api/v1/payments`, {
    method: 'POST',
    headers: { cookie, origin: appUrl, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify({ amount_rub: amount }),
  })
  expect(response.status).toBe(201)
  const { id } = (await response.json()) as { id: string }
  const { rows } = await pool.query('select provider_id from payments where id = $1', [id])
  return { id, organizationId, providerId: rows[0].provider_id as string }
}

const untilCredits = (organizationId: string, expected: readonly string[]) =>
  vi.waitFor(async () => {
    const { rows } = await pool.query(
      'select kind, amount from balance_ledger where organization_id = $1 order by seq',
      [organizationId],
    )
    expect(rows.map(({ kind, amount }) => `${kind} ${formatRub(nanoRub(amount))}`)).toEqual(expected)
  })

const untilNotification = (objectId: string, expected: object) =>
  vi.waitFor(async () => {
    const { notifications } = await drive.journal()
    expect(notifications.filter((one) => one.objectId === objectId)).toMatchObject([expected])
  })

test('while the receiver is unavailable for an hour, the poller credits, and later notifications add nothing', async () => {
  const { id, organizationId, providerId } = await beginPayment('1000')
  await receiver.stop()
  await drive.pay(providerId)
  await untilNotification(providerId, { state: 'waiting', statuses: [0] })
  await pool.query('update payments set next_poll_at = now() where id = $1', [id])
  await untilCredits(organizationId, ['top_up 1000', 'welcome 150'])
  await drive.moveClock({ forwardMs: 60_000 })
  await untilNotification(providerId, { state: 'waiting', statuses: [0, 0] })

  receiver = await startReceiver()
  await drive.moveClock({ forwardMs: 3_600_000 })
  await untilNotification(providerId, { state: 'delivered', statuses: [0, 0, 200] })
  await vi.waitFor(async () => {
    const { rows } = await pool.query('select outcome from webhook_inbox where object_id = $1', [providerId])
    expect(rows).toEqual([{ outcome: 'settled' }])
  })
  await untilCredits(organizationId, ['top_up 1000', 'welcome 150'])
})

test('while the pages are down, a paid payment is received and credited', async () => {
  const { organizationId, providerId } = await beginPayment('100')
  await web.kill()
  await drive.pay(providerId)
  await untilCredits(organizationId, ['top_up 100'])
  await untilNotification(providerId, { state: 'delivered', statuses: [200] })
})
