import { pino } from 'pino'
import { expect, test } from 'vitest'
import { letterContentSchema } from '#cabinet/mail/internal/letter-content'
import { alertsJob } from '#cabinet/notifications/internal/alerts-job'
import { buildPagesIfOlder } from '#cabinet/pages/build-pages'
import { autoTopUpJob } from '#cabinet/payments/internal/auto-top-up-job'
import { openShop } from '#cabinet/payments/shop'
import { createKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { lowBalanceJob } from '#worker/low-balance-job'
import {
  aPassword,
  cabinetOfThisFile,
  lettersTo,
  newEmail,
  registration,
  type SignedUp,
  signUp,
} from '../support/cabinet.ts'
import { entryOf, pepper, uuidV7 } from '../support/customer.ts'
import { poolAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool, database } = cabinet
const workerPool = poolAs('model_gateway_worker', database)
const log = pino({ enabled: false })
const administration = await administrationOfThisFile(database)

test('every link in every email opens a page', async () => {
  await buildPagesIfOlder()
  const [user, guest, newAddress] = [await signUp(cabinet), newEmail(), newEmail()]
  await cabinet.visitor().post('/auth/register', registration({ email: user.email }))
  await cabinet.visitor().post('/auth/password/forgot', { email: user.email })
  await user.visitor.post('/invitations', { email: guest, role: 'developer' })
  await user.visitor.post('/me/email-change', { email: newAddress, password: aPassword })
  const alerted = await alertedOwner()
  const recipients = [user.email, guest, newAddress, alerted.email, await loseSecondFactor()]

  const letters = (await Promise.all(recipients.map((email) => lettersTo(pool, email)))).flat()
  const links = letters.flatMap(({ kind, vars }) =>
    Object.values<unknown>(vars).flatMap((value) =>
      typeof value === 'string' && value.startsWith(appUrl) ? [{ kind, link: value }] : [],
    ),
  )
  expect(new Set(links.map(({ kind }) => kind))).toEqual(new Set(kindsWithLinks()))
  for (const { kind, link } of links) {
    const page = await fetch(link.replace(appUrl, cabinet.url), { headers: { accept: 'text/html' } })
    expect([kind, link, page.status]).toEqual([kind, link, 200])
  }
})

/** An owner whose organization has a low balance, a spent budget, and unusual spending. */
async function alertedOwner(): Promise<SignedUp> {
  const owner = await signUp(cabinet)
  const { organizationId, visitor } = owner
  await visitor.post('/notifications/test')
  await visitor.call('PATCH', '/notifications', { budgets: true, spend_spike: true })
  await pool.query('update organizations set low_balance_threshold_nano = 1000 where id = $1', [
    organizationId,
  ])
  const { keyId, secret } = await inTestScope(pool, (client) =>
    createKey(
      client,
      { organizationId, name: 'alerted', managedBy: 'cabinet', dailyBudgetNano: nanoRub(1n) },
      pepper,
    ),
  )
  const customer = { organizationId, keyId, key: secret }
  for (let daysAgo = 7; daysAgo > 0; daysAgo--) {
    const at = Date.now() - daysAgo * 86_400_000
    await postBatch(pool, [
      entryOf(customer, 1_000_000_000n, { requestId: uuidV7(at), day: Math.floor(at / 86_400_000) }),
    ])
  }
  await postBatch(pool, [entryOf(customer, 200_000_000_000n)])
  const { signal } = new AbortController()
  await saveExpiredCard(organizationId)
  const shop = openShop({
    shopId: '1',
    secretKey: 'test_unused',
    url: 'http://127.0.0.1:9',
    isTest: true,
    receipt: undefined,
  })
  const topUps = autoTopUpJob({ pool: workerPool, log }, shop)
  for (const job of [lowBalanceJob(workerPool), alertsJob(workerPool, log), topUps])
    await job.run(signal, signal)
  await shop.close()
  return owner
}

/** A card for automatic top-ups that stop, because it does not work any more. */
async function saveExpiredCard(organizationId: string): Promise<void> {
  await pool.query(
    `with made as (insert into payments (id, organization_id, user_id, amount, next_call_at)
       select gen_random_uuid(), organization_id, user_id, 1, null from memberships where organization_id = $1 returning *)
     insert into saved_cards (organization_id, user_id, payment_id, method_id, brand, last4, expires, threshold_nano,
                              amount_nano, daily_max_nano)
     select organization_id, user_id, id, 'a-method', 'Mir', '4444', '2020-01', 1000, 1, 1 from made`,
    [organizationId],
  )
}

/** A user whose second factor two administrators have agreed to remove. Returns the user's address. */
async function loseSecondFactor(): Promise<string> {
  const { userId } = await signedIn(pool, { hasTotp: true })
  const body = { reason: 'Lost phone, passport checked' }
  const call = async (path: string) =>
    administration.call('POST', path, { cookie: (await signedInAdministrator(pool)).cookie, body })
  const requested = await call(`/admin/users/${userId}/totp-resets`)
  expect((await call(`/admin/totp-resets/${requested.body.id}/approve`)).status).toBe(200)
  const { rows } = await pool.query('select email from users where id = $1', [userId])
  return rows[0].email
}

/** The kinds of emails whose content has a link. */
function kindsWithLinks(): readonly string[] {
  return letterContentSchema.options
    .filter(({ shape }) => Object.keys(shape.vars.shape).some((name) => /link$/i.test(name)))
    .map(({ shape }) => shape.kind.value)
}
