import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { takeEpoch } from '#core/audit/cluster-epoch'
import { inReadScope, inScope, type ScopedClient } from '#core/audit/scope'
import { putPrice, putRoute, removeRoute } from '#core/catalog/catalog-store'
import { type ClusterResource, putResource, removeResource } from '#core/clusters/cluster-resources'
import { observeNamespace } from '#core/clusters/namespace-observations'
import type { Queryable } from '#core/db/pool'
import { insertKey, mintUndelivered, setManagedBy } from '#core/keys/key-store'
import { auditBooksIfDue } from '#core/ledger/internal/audit-books'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { nanoRub } from '#core/ledger/money'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { noTokens } from '#core/ledger/price'
import { storedRoute } from '../support/catalog.ts'
import { createCustomer, entryOf, pepper, recordOf, takenBack } from '../support/customer.ts'
import { insertManagementToken } from '../support/management-token.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

// That each role is enough for its job is proven by every other test: their processes have these roles (stack.ts).
const database = await databaseOfThisFile()
const customers = poolAs('model_gateway_cabinet', database)

const refusedToAll = [
  'insert into balance_ledger default values',
  'delete from balance_ledger',
  'truncate balance_ledger',
  'update org_account set balance = 0',
  'update requests set cost = 0',
  'delete from requests',
  'update key_daily_spend set amount = 0',
  'update organization_daily_spend set amount = 0',
  'update api_keys set organization_id = gen_random_uuid()',
  "update api_key_credentials set hash = 'x'",
  'delete from api_keys',
  'delete from api_key_credentials',
  'insert into organizations (id, name, shard) values (gen_random_uuid(), null, 0)',
  'update organizations set shard = 1',
  'update model_prices set input = 0',
  'update catalogue_revision set revision = 0',
  "select post_credit(gen_random_uuid(), 'trial', gen_random_uuid(), 1, now())",
  "select post_round('[]', 1)",
  'insert into schema_migrations default values',
  "update key_pepper set check_value = 'x'",
  "update audit_log set action = 'a.b'",
  'delete from audit_log',
  'create table stray ()',
  'update email_outbox set recipient = null',
  'insert into email_outbox (created_at) values (now())',
  'insert into email_outbox (sent_at) values (now())',
  'delete from payments',
  'update payments set amount = 1',
  'update payments set organization_id = gen_random_uuid()',
  "insert into payments (status) values ('succeeded')",
  'update refunds set amount = 1',
  'delete from webhook_inbox',
  "update webhook_inbox set body = '{}'",
  'insert into webhook_inbox (processed_at) values (now())',
  'delete from payment_differences',
  "update payment_differences set theirs = 'none'",
  'update payment_evidence set paid = true',
  'delete from payment_evidence',
  'truncate payment_evidence',
  'insert into payment_evidence (read_at) values (now())',
  "insert into payment_evidence (read_by) values ('somebody')",
  'insert into namespace_observations default values',
  'update namespace_observations set organization_id = null',
  'delete from namespace_observations',
  'update model_routes set cluster_id = null',
  'select from trial_days',
  'update trial_days set granted = 0',
  'delete from trial_domains',
  'select from promised_trials',
  'insert into promised_trials default values',
  'update email_outbox set due_at = now()',
  'insert into email_outbox (mailbox) values (null)',
  'insert into administrators default values',
  "update administrators set email = 'x@example.com'",
  'delete from administrators',
  'insert into administrator_setups default values',
  "update users set role = 'admin'",
  'insert into audit_log (at) values (now())',
]

/** What only the administration process may do. */
const ofAdministrators = [
  'select from administrators',
  "update administrators set password_hash = 'x', totp_sealed = 'x'",
  'select from administrator_sessions',
  'insert into administrator_sessions default values',
  'update administrator_sessions set mfa_at = now()',
  'delete from administrator_sessions',
  'select from administrator_setups',
  'update administrator_setups set used_at = null',
  'select from administrator_recovery_codes',
  'insert into administrator_recovery_codes default values',
  'update administrator_recovery_codes set used_at = null',
  'select from administrator_idempotency_keys',
  'insert into administrator_idempotency_keys default values',
  'delete from administrator_idempotency_keys',
  'select post_adjustment(gen_random_uuid(), gen_random_uuid(), 1, now())',
  'update users set blocked_at = null',
  'update api_keys set admin_blocked_at = null',
  'update payment_differences set resolved_at = now()',
  'insert into refunds (made_by) values (null)',
  'insert into refunds (next_call_at) values (now())',
  'insert into model_prices (valid_from) values (now())',
  'insert into model_prices (scheduled) values (true)',
  'update model_prices set canceled_at = now()',
  "select * from decide_rejected_charge(gen_random_uuid(), 'posted', gen_random_uuid(), '')",
]

const refused = {
  model_gateway_worker: [
    // It calls refunds again, and posts what came of them.
    ...ofAdministrators.filter((sql) => !sql.includes('refunds')),
    'update organizations set low_balance_threshold_nano = 0',
    'update api_keys set owner_blocked_at = null',
    'update api_keys set admin_blocked_at = null',
    'select password_hash from users',
    'select from sessions',
    'select from management_tokens',
    'insert into bonuses default values',
    'insert into payments default values',
    'insert into webhook_inbox default values',
    'update payment_differences set resolved_at = now()',
    'update api_keys set rpm = 1',
    'update api_keys set kubernetes_blocked_at = null',
    'update api_keys set revoked_at = null',
    'insert into api_key_credentials default values',
    'update api_key_credentials set revoked_at = null',
    'update api_key_credentials set delivered_at = now()',
    'insert into model_providers default values',
    'update model_routes set free = true',
    'insert into charges_rejected default values',
    'insert into unchecked_requests default values',
    'update unchecked_ledger_rows set first_seqs = null',
    'select from cluster_epochs',
    'insert into cluster_epochs default values',
    'insert into cluster_resources default values',
    "select is_key_pepper('x')",
    "select grant_trial(gen_random_uuid(), gen_random_uuid(), '', null, null)",
    "select promise_trial(gen_random_uuid(), '', null, 1)",
    "select write_link_again(gen_random_uuid(), 'x')",
    "insert into cabinet_address (url) values ('https://elsewhere.example')",
    'insert into notification_settings default values',
    'update notification_settings set webhook_url = null',
    'delete from notification_settings',
    'update webhook_outbox set payload = null',
    'insert into telegram_links default values',
    'update telegram_links set chat_name = null',
    'delete from telegram_links',
    'insert into telegram_bot default values',
    'update telegram_outbox set body = null',
    'select from totp_resets',
    'select delete_account(gen_random_uuid())',
    'select cancel_totp_resets_of(gen_random_uuid())',
    'select from email_changes',
    "select confirm_email_change('x')",
    'select from namespace_observations',
    "select observe_namespace('c', 1, 'n', gen_random_uuid())",
  ],
  model_gateway_administration: [
    'select password_hash from users',
    'update users set password_hash = null',
    'insert into users default values',
    'select token_hash from sessions',
    'insert into sessions default values',
    'select from recovery_codes',
    'select from email_tokens',
    'insert into organizations default values',
    'insert into memberships default values',
    "update memberships set role = 'owner'",
    'delete from memberships',
    'insert into invitations default values',
    'update invitations set accepted_at = now()',
    'delete from invitations',
    'select token_hash from management_tokens',
    'insert into management_tokens default values',
    'update management_tokens set revoked_at = null',
    'delete from management_tokens',
    'insert into api_keys default values',
    'update api_keys set owner_blocked_at = null',
    'update api_keys set rpm = 1',
    'update api_keys set revoked_at = null',
    'insert into api_key_credentials default values',
    'insert into payments default values',
    'insert into bonuses default values',
    'select from stored_responses',
    'select from key_pepper',
    'select vars from email_outbox',
    'select from notification_settings',
    'select from budget_alerts',
    'select from webhook_outbox',
    'select from telegram_bot',
    'select from telegram_links',
    'select from telegram_outbox',
    'select new_link_token()',
    'select cancel_hash from totp_resets',
    'update totp_resets set due_at = null',
    'insert into totp_resets (due_at) values (now())',
    'select carry_out_totp_resets(1)',
    "update consents set address = ''",
    'update users set deleted_at = now()',
    "select cancel_totp_reset('x')",
    'select from email_changes',
    "select begin_email_change(gen_random_uuid(), 'a@b.example', '', '')",
    "select confirm_email_change('x')",
    "insert into cabinet_address (url) values ('https://elsewhere.example')",
    "update cabinet_address set url = 'https://elsewhere.example'",
    'update email_outbox set due_at = null',
    'update requests set cost = 0',
    "update model_providers set name = 'x'",
    "update model_routes set model = 'x/y'",
    'update model_routes set cluster_id = null',
    'delete from model_routes',
    'update model_prices set valid_from = now()',
    'insert into cluster_resources default values',
    'insert into gateway_replicas default values',
    'insert into idempotency_keys default values',
    'insert into webhook_inbox default values',
    "select grant_trial(gen_random_uuid(), gen_random_uuid(), '', null, null)",
    "select promise_trial(gen_random_uuid(), '', null, 1)",
    "select post_batch('[]')",
    "select reject_charge(0::smallint, '', '', '', '')",
    'select ensure_partitions(1)',
    'select lift_catalogue_revision(9)',
    'insert into ledger_daily default values',
    'update ledger_daily set amount = 0',
    'insert into charges_rejected default values',
    "update charges_rejected set decision = 'posted'",
    'update invariant_audit set looked_at = now()',
    'delete from invariant_breaches',
    'delete from gateway_replicas',
  ],
  model_gateway_webhook: [
    ...ofAdministrators,
    'select from webhook_inbox',
    'select from payment_evidence',
    'insert into payment_evidence (payment_id) values (null)',
    'select from payments',
    'select from organizations',
    'update payments set polls = 0',
    'select from payment_differences',
    'update payment_differences set resolved_at = now()',
    'select remove_old_webhooks(1)',
    'select book_top_up(gen_random_uuid())',
    'select grant_welcome(gen_random_uuid(), gen_random_uuid())',
    'select book_refund(gen_random_uuid())',
    'select reverse_welcome(gen_random_uuid())',
    'select grant_promised_trial(gen_random_uuid(), gen_random_uuid())',
    'select trials_of_today()',
    "select write_letter('x', 'a@b', 'a@b', 'ru', '{}', null)",
  ],
  model_gateway_operator: [
    ...ofAdministrators,
    "select grant_trial(gen_random_uuid(), gen_random_uuid(), '', null, null)",
    'select grant_promised_trial(gen_random_uuid(), gen_random_uuid())',
    'select trials_of_today()',
    "select write_letter('x', 'a@b', 'a@b', 'ru', '{}', null)",
    'select from payments',
    'select from payment_evidence',
    'insert into payment_evidence (payment_id) values (null)',
    'select from webhook_inbox',
    'update payment_differences set resolved_at = now()',
    'select remove_old_webhooks(1)',
    'select book_top_up(gen_random_uuid())',
    'update organizations set low_balance_threshold_nano = 0',
    'update api_keys set owner_blocked_at = null',
    'update api_keys set admin_blocked_at = null',
    'select password_hash from users',
    'select from sessions',
    'insert into bonuses default values',
    'select from email_outbox',
    'insert into email_outbox (kind) values (null)',
    'update organizations set low_balance_noted_at = null',
    'select from org_account',
    'select from balance_ledger',
    'select from requests',
    'select from key_pepper',
    'update api_keys set projected_version = 9',
    'update api_key_credentials set projected_version = 9',
    "update model_providers set name = 'x'",
    "update model_routes set model = 'x/y'",
    'insert into gateway_replicas default values',
    'delete from gateway_replicas',
    'delete from cluster_epochs',
    "select post_batch('[]')",
    "select reject_charge(0::smallint, '', '', '', '')",
    'select ensure_partitions(1)',
    'select lift_catalogue_revision(9)',
    'select restamp_changes(1)',
  ],
  model_gateway_cabinet: [
    ...ofAdministrators,
    "update users set email = 'x@example.com'",
    'select webhook_secret from notification_settings',
    'update notification_settings set spike_day = null',
    'select payload from webhook_outbox',
    'update webhook_outbox set sent_at = now()',
    'delete from webhook_outbox',
    'select code_hash from telegram_links',
    'select chat_id from telegram_links',
    'delete from telegram_links',
    'update telegram_bot set username = null',
    'select body from telegram_outbox',
    'update telegram_outbox set sent_at = now()',
    "select link_telegram_chat('x', 1, 'x')",
    "select end_telegram_links(1, 'stopped')",
    'select from budget_alerts',
    'select new_hash from email_changes',
    'insert into email_changes default values',
    "update email_changes set new_email = 'x@example.com'",
    'select from payment_evidence',
    'insert into payment_evidence (payment_id) values (null)',
    'insert into refunds (status) values (null)',
    'update refunds set status = status',
    'select book_top_up(gen_random_uuid())',
    'select grant_welcome(gen_random_uuid(), gen_random_uuid())',
    'select book_refund(gen_random_uuid())',
    'select reverse_welcome(gen_random_uuid())',
    'select grant_promised_trial(gen_random_uuid(), gen_random_uuid())',
    "update payment_checks set outcome = 'answered'",
    'insert into payment_checks (taken_at) values (now())',
    'delete from payment_checks',
    'select from webhook_inbox',
    'select from payment_differences',
    'select from audit_log',
    'insert into webhook_inbox default values',
    'select remove_old_webhooks(1)',
    'update webhook_inbox set processed_at = now()',
    'select from email_outbox',
    'select trials_of_today()',
    'update email_outbox set sent_at = now()',
    'delete from email_outbox',
    'update organizations set low_balance_noted_at = null',
    'select from model_providers',
    'select uid from cluster_resources',
    'select from key_pepper',
    'update api_keys set kubernetes_blocked_at = null',
    'update api_keys set managed_by = managed_by',
    "update organizations set name = 'x'",
    "update users set email = 'x@example.com'",
    'delete from users',
    "update consents set version = '0'",
    'delete from consents',
    'update memberships set user_id = user_id',
    'update memberships set organization_id = organization_id',
    "update invitations set email = ''",
    'update invitations set expires_at = now()',
    "update invitations set role = 'owner'",
    "update management_tokens set scopes = '{billing}'",
    "update management_tokens set expires_at = 'infinity'",
    'update management_tokens set token_hash = null',
    'update management_tokens set organization_id = organization_id',
    'insert into bonuses default values',
    'update bonuses set amount = 1',
    "select post_credit(gen_random_uuid(), 'top_up', gen_random_uuid(), 1, now())",
    'insert into model_providers default values',
    'update model_routes set free = true',
    'delete from model_routes',
    'insert into cluster_resources default values',
    'select from namespace_observations',
    "select observe_namespace('c', 1, 'n', gen_random_uuid())",
    'select current_catalogue_revision()',
    "select post_batch('[]')",
    "select reject_charge(0::smallint, '', '', '', '')",
    'select ensure_partitions(1)',
    'select lift_catalogue_revision(9)',
    'select restamp_changes(1)',
  ],
}

describe('row-level security: the cabinet sees, of', () => {
  const pool = poolAs('model_gateway_cabinet', database)
  const owned = [
    'organizations',
    'api_keys',
    'org_account',
    'balance_ledger',
    'ledger_hourly',
    'usage_hourly',
    'usage_by_provider',
    'durations_hourly',
    'requests',
    'memberships',
    'invitations',
    'management_tokens',
    'bonuses',
    'api_key_credentials',
    'key_daily_spend',
    'organization_daily_spend',
    'payments',
    'refunds',
    'payment_checks',
  ]

  test.each(owned)(
    '%s: only rows of the organization that it has named, and none if it named none',
    async (table) => {
      const [one, other] = [await filledCustomer(), await filledCustomer()]
      const count = (client: Queryable) => countOf(client, table)
      const seen = {
        byNobody: await count(pool),
        byNonsense: await inReadScope(pool, 'no id', count),
        byOne: await inReadScope(pool, one, count),
        byBoth: await inReadScope(pool, null, count),
      }
      expect([seen.byNobody, seen.byNonsense]).toEqual([0, 0])
      expect(seen.byOne).toBeGreaterThan(0)
      expect(seen.byBoth).toBeGreaterThanOrEqual(seen.byOne + (await inReadScope(pool, other, count)))
    },
  )

  test('nothing that belongs to another organization can be changed or added', async () => {
    const [one, other] = [await filledCustomer(), await filledCustomer()]
    const scope = { actor: { kind: 'job', name: 'test' }, organizationId: one } as const
    const rename = (id: string) =>
      inScope(pool, scope, (client) =>
        client.withoutAudit('part of the test', 'update organizations set display_name = $2 where id = $1', [
          id,
          'taken',
        ]),
      )
    expect([(await rename(other)).rowCount, (await rename(one)).rowCount]).toEqual([0, 1])
    const userId = await newUser()
    const added = inScope(pool, scope, (client) =>
      client.withoutAudit(
        'part of the test',
        "insert into memberships (organization_id, user_id, role) values ($1, $2, 'owner')",
        [other, userId],
      ),
    )
    await expect(added).rejects.toMatchObject({ code: '42501' })
  })
})

describe.each(Object.entries(refused))('%s may not', (role, ofItsOwn) => {
  const pool = poolAs(role, database)

  test.each([...refusedToAll, ...ofItsOwn])('%s', async (sql) => {
    await expect(pool.query(sql)).rejects.toMatchObject({ code: '42501' })
  })
})

test('the customers’ process writes rows of the audit log only as a user, a token or a job, never as an administrator', async () => {
  const scope = { organizationId: null, reason: 'a test' } as const
  const noteAs = (actor: Parameters<typeof inScope>[1]['actor']) =>
    inScope(customers, { ...scope, actor }, (client) =>
      client.change('select', [], () => ({
        action: 'user.test',
        subject: { kind: 'User', id: randomUUID() },
        organizationId: null,
        before: null,
        after: null,
      })),
    )
  for (const kind of ['person', 'token'] as const) await noteAs({ kind, id: randomUUID() })
  for (const kind of ['administrator', 'command'] as const)
    await expect(noteAs({ kind, id: randomUUID(), name: 'npm run admin' })).rejects.toMatchObject({
      code: '42501',
    })
})

describe.each(['model_gateway_administration', 'model_gateway_worker'])(
  '%s, which settles payments,',
  (role) => {
    const pool = poolAs(role, database)
    const scope = { actor: { kind: 'job', name: 'test' }, organizationId: null } as const
    /** In one transaction, like an attacker who controls the process. */
    const tryAll = (statements: readonly string[], ids: readonly string[]) =>
      inScope(pool, scope, async (client) => {
        for (const sql of statements) {
          const used = ids.filter((_, index) => sql.includes(`$${index + 1}`))
          await client.withoutAudit('part of the test', sql, used)
        }
      })
    const refused = { code: '23514' }
    const call = 'update payments set provider_id = $1::uuid::text, next_call_at = null where id = $1'
    /** The provider's alleged response. */
    const read = (
      changes: Partial<Record<'payment_id' | 'provider_id' | 'status' | 'paid' | 'amount', string>> = {},
    ) => {
      const said = {
        payment_id: 'id',
        provider_id: 'provider_id',
        status: "'succeeded'",
        paid: 'true',
        amount: 'amount',
      }
      const columns = Object.entries({ ...said, ...changes })
      return `insert into payment_evidence (${columns.map(([name]) => name)}, captured_at)
            select ${columns.map(([, value]) => value)}, now() from payments where id = $1`
    }
    const pay = `update payments set status = 'succeeded', succeeded_at = now(),
                 evidence_id = (select max(id) from payment_evidence where payment_id = $1) where id = $1`
    /** As the release before this does it. */
    const payUnproved = `update payments set provider_id = coalesce(provider_id, $1::uuid::text), status = 'succeeded',
                         succeeded_at = now(), next_call_at = null where id = $1`
    const book = 'select book_top_up($1)'
    const paid = [call, read(), pay, book]
    const refund = `insert into refunds (id, payment_id, organization_id, provider_id, amount, status)
                  select $2::uuid, id, organization_id, $2::uuid::text, amount, 'succeeded' from payments where id = $1`
    const giveBack = "update payments set status = 'refunded', refunded = amount where id = $1"
    const bookRefund = 'select book_refund($2) where $1::uuid is not null'

    test('calls no payment paid without its row in the ledger', async () => {
      const ids = [await newPayment(), randomUUID()]
      await expect(tryAll([call, read(), pay], ids)).rejects.toMatchObject(refused)
      const early = ['set constraints all immediate', ...paid]
      await expect(tryAll(early, ids)).rejects.toMatchObject(refused)
      expect(await statusOf(ids)).toBe('pending')
      await tryAll(paid, ids)
      expect(await statusOf(ids)).toBe('succeeded')
    })

    test('marks no payment as paid without evidence of its provider', async () => {
      const ids = [await newPayment()]
      await expect(tryAll([call, pay, book], ids)).rejects.toMatchObject(refused)
      await expect(tryAll([call, payUnproved, book], ids)).rejects.toMatchObject(refused)
      await expect(tryAll([payUnproved, book], ids)).rejects.toMatchObject(refused)
      const refunded = `update payments set status = 'refunded', refunded = amount, succeeded_at = now() where id = $1`
      await expect(tryAll([call, refunded, book], ids)).rejects.toMatchObject(refused)
      expect(await statusOf(ids)).toBe('pending')
    })

    test.each([
      ['is not paid', { paid: 'false' }],
      ['has another status', { status: "'waiting_for_capture'" }],
      ['has another amount', { amount: 'amount + 1' }],
      ['has another id at the provider', { provider_id: "'another'" }],
    ])('calls no payment paid by one that %s', async (_, changes) => {
      const ids = [await newPayment()]
      await expect(tryAll([call, read(changes), pay, book], ids)).rejects.toMatchObject(refused)
    })

    test('marks no payment as paid by evidence of another one, or of one that the provider has not created yet', async () => {
      const [one, other] = [await newPayment(), await newPayment()]
      await tryAll([call, read()], [other])
      await tryAll([call], [one])
      const borrow = `update payments set status = 'succeeded', succeeded_at = now(),
                      evidence_id = (select id from payment_evidence where payment_id = $2) where id = $1`
      await expect(tryAll([borrow, book], [one, other])).rejects.toMatchObject(refused)
      const unmade = await newPayment()
      const withItsId = pay.replace(
        'set status',
        'set provider_id = $1::uuid::text, next_call_at = null, status',
      )
      const statements = [read({ provider_id: 'id::text' }), withItsId, book]
      await expect(tryAll(statements, [unmade])).rejects.toMatchObject(refused)
    })

    test('keeps by what a payment was paid', async () => {
      const ids = [await newPayment()]
      await tryAll(paid, ids)
      for (const change of ['evidence_id = null', 'succeeded_at = now()', "provider_id = 'another'"])
        await expect(tryAll([`update payments set ${change} where id = $1`], ids)).rejects.toMatchObject(
          refused,
        )
      const { rows } = await database.pool.query(
        'select read_by from payment_evidence where payment_id = $1',
        ids,
      )
      expect(rows).toEqual([{ read_by: role }])
    })

    test('believes a notification where it keeps no evidence, as the release before does not', async () => {
      const [id] = [await newPayment()]
      const notify = (changes: {
        readonly amount?: string
        readonly paid?: boolean
        readonly paymentId?: string
      }) =>
        database.pool.query(
          `insert into webhook_inbox (provider, event, object_id, body) values ('yookassa', 'payment.succeeded', $1, $2)`,
          [
            id,
            {
              object: {
                id,
                status: 'succeeded',
                paid: changes.paid ?? true,
                amount: { value: changes.amount ?? '100.00', currency: 'RUB' },
                metadata: { payment_id: changes.paymentId ?? id },
              },
            },
          ],
        )
      for (const changes of [{ amount: '10.00' }, { paid: false }, { paymentId: randomUUID() }])
        await notify(changes)
      await expect(tryAll([payUnproved, book], [id])).rejects.toMatchObject(refused)
      await notify({})
      await tryAll([payUnproved, book], [id])
      expect(await statusOf([id])).toBe('succeeded')
    })

    test('calls nothing refunded without a refund and its row in the ledger', async () => {
      const ids = [await newPayment(), randomUUID()]
      await tryAll(paid, ids)
      for (const statements of [[giveBack], [refund], [refund, giveBack], [refund, bookRefund]])
        await expect(tryAll(statements, ids)).rejects.toMatchObject(refused)
      await tryAll([refund, giveBack, bookRefund], ids)
      expect(await statusOf(ids)).toBe('refunded')
      const takeBack = "update refunds set status = 'canceled' where id = $2 and $1::uuid is not null"
      await expect(tryAll([takeBack], ids)).rejects.toMatchObject(refused)
    })

    test('takes back no status except one given up before the provider knew it', async () => {
      const ids = [await newPayment(), randomUUID()]
      const become = (status: string) =>
        `update payments set status = '${status}', succeeded_at = null where id = $1`
      await tryAll([become('canceled')], ids)
      await tryAll([become('pending')], ids)
      await tryAll([become('waiting_for_capture')], ids)
      await expect(tryAll([become('pending')], ids)).rejects.toMatchObject(refused)
      await tryAll(paid, ids)
      for (const status of ['pending', 'waiting_for_capture', 'canceled'])
        await expect(tryAll([become(status)], ids)).rejects.toMatchObject(refused)
    })

    async function newPayment(): Promise<string> {
      const { organizationId } = await createCustomer(database.pool)
      const id = randomUUID()
      await database.pool.query(
        'insert into payments (id, organization_id, user_id, amount) values ($1, $2, $3, 100000000000)',
        [id, organizationId, await newUser()],
      )
      return id
    }

    async function statusOf([id]: readonly string[]): Promise<string> {
      const { rows } = await database.pool.query('select status from payments where id = $1', [id])
      return rows[0]?.status
    }
  },
)

const worker = poolAs('model_gateway_worker', database)

test('a worker posts charges, although it may write no row of the ledger', async () => {
  const customer = await createCustomer(database.pool, { balanceNano: 1_000n })
  const { balances } = await postBatch(worker, [entryOf(customer, 7n)])
  expect(balances).toHaveLength(1)
})

describe('a worker', () => {
  const tokens = { input: 100, output: 20 }
  const price = {
    input: nanoRub(5n),
    cachedInput: null,
    cacheWrite: null,
    output: nanoRub(9n),
    reasoning: null,
  }
  const cost = 100n * 5n + 20n * 9n + 3n
  const refused = { code: '22023' }

  async function booked(costNano: bigint, fields: Partial<BatchEntry> = {}) {
    const customer = await createCustomer(database.pool, { balanceNano: 10_000n })
    const entry = entryOf(customer, costNano, fields)
    await postBatch(worker, [entry])
    const state = async () => {
      const { rows } = await database.pool.query<{ balance: bigint; audits: object[] }>(
        `select balance, (select coalesce(json_agg(json_build_object('actor', actor_id, 'action', action,
                                 'before', before ->> 'costNano', 'after', after ->> 'costNano')), '[]')
                            from audit_log where subject_kind = 'Request' and subject_id = $2) as audits
           from org_account where organization_id = $1`,
        [customer.organizationId, entry.requestId],
      )
      return rows[0]
    }
    return { customer, entry, state }
  }

  const newPrice = async () => {
    const model = `a/${randomUUID()}`
    const { priceId } = await inTestScope(database.pool, (client) =>
      putPrice(client, model, { ...price, perRequest: nanoRub(3n) }),
    )
    return priceId
  }

  test('takes back a charge whose response no one received, once, and not without a row in the audit log', async () => {
    const { entry, state } = await booked(700n)
    await postBatch(worker, [takenBack(entry)])
    await postBatch(worker, [takenBack(entry), entry])
    const audits = [{ actor: 'worker', action: 'charge.corrected', before: '700', after: '0' }]
    expect(await state()).toEqual({ balance: 10_000n, audits })
  })

  test.each<[string, (entry: BatchEntry) => Partial<BatchEntry>]>([
    ['by what says nothing of why', ({ record }) => ({ record })],
    ['in part', () => ({ costNano: 699n })],
    ['and more than it', () => ({ costNano: 701n })],
    [
      'with other tokens',
      ({ record }) => ({ record: { ...record, outcome: 'unsettled', tokens: noTokens } }),
    ],
    ['of another day', ({ day }) => ({ day: day - 1 })],
  ])('takes back no charge %s', async (_, changes) => {
    const { entry, state } = await booked(700n)
    await expect(postBatch(worker, [{ ...takenBack(entry), ...changes(entry) }])).rejects.toMatchObject(
      refused,
    )
    expect(await state()).toEqual({ balance: 9_300n, audits: [] })
  })

  test('takes back no stream of which content was delivered, and no charge posted more than a week ago', async () => {
    const streamed = await booked(700n, { record: recordOf({ stream: true, firstContentMs: 5, tokens }) })
    await expect(postBatch(worker, [takenBack(streamed.entry)])).rejects.toMatchObject(refused)
    const silent = await booked(700n, { record: recordOf({ stream: true, firstContentMs: null, tokens }) })
    await database.pool.query("update requests set updated_at = now() - interval '8 days' where id = $1", [
      silent.entry.requestId,
    ])
    await expect(postBatch(worker, [takenBack(silent.entry)])).rejects.toMatchObject(refused)
    await database.pool.query('update requests set updated_at = now() where id = $1', [
      silent.entry.requestId,
    ])
    await postBatch(worker, [takenBack(silent.entry)])
    expect(await streamed.state()).toEqual({ balance: 9_300n, audits: [] })
    expect(await silent.state()).toMatchObject({ balance: 10_000n, audits: [{ before: '700' }] })
  })

  test('knows no kind of charge above a correction', async () => {
    const { entry, state } = await booked(700n)
    for (const rank of [3, 9])
      await expect(
        worker.query('select * from post_batch($1)', [
          JSON.stringify([
            {
              request_id: entry.requestId,
              rank,
              organization_id: entry.organizationId,
              key_id: entry.keyId,
              day: entry.day,
              cost: '0',
              record: entry.record,
            },
          ]),
        ]),
      ).rejects.toMatchObject(refused)
    expect(await state()).toEqual({ balance: 9_300n, audits: [] })
  })

  test('settles after a sweep: a higher amount as given, a lower one only at the cost of the tokens, with an audit log row', async () => {
    const record = recordOf({ priceId: await newPrice(), tokens })
    const swept = recordOf({ outcome: 'swept', stream: true, usageSource: 'estimated' })
    const release = { chargeKind: 'released', record: swept } as const
    const less = await booked(9_000n, release)
    const settle = (entry: BatchEntry, costNano: bigint, settled: BatchEntry['record']) =>
      postBatch(worker, [{ ...entry, chargeKind: 'settled', costNano, record: settled }])
    for (const [wrong, settled] of [
      [0n, record],
      [cost - 1n, record],
      [0n, recordOf({ tokens: noTokens })],
      [cost, recordOf({ priceId: randomUUID(), tokens })],
    ] as const)
      await expect(settle(less.entry, wrong, settled)).rejects.toMatchObject(refused)
    await settle(less.entry, cost, record)
    const audits = [{ actor: 'worker', action: 'charge.corrected', before: '9000', after: String(cost) }]
    expect(await less.state()).toEqual({ balance: 10_000n - cost, audits })
    const more = await booked(5n, release)
    await settle(more.entry, cost, record)
    expect(await more.state()).toEqual({ balance: 10_000n - cost, audits: [] })
  })

  test('settles for the key that was charged, and for no other one of the same organization', async () => {
    const { customer, entry, state } = await booked(5n, { chargeKind: 'released' })
    const { organizationId } = customer
    const keyId = await inTestScope(database.pool, (client) =>
      insertKey(client, { organizationId, name: 'another', managedBy: 'cabinet' }),
    )
    const other = { ...entry, chargeKind: 'settled', costNano: 9n, keyId } as const
    await expect(postBatch(worker, [other])).rejects.toMatchObject(refused)
    expect(await state()).toMatchObject({ balance: 9_995n })
  })
})

describe('an operator', () => {
  const operator = poolAs('model_gateway_operator', database)
  const refused = { code: '23514' }
  const price = {
    cachedInput: null,
    cacheWrite: null,
    reasoning: null,
    output: nanoRub(0n),
    perRequest: nanoRub(0n),
  }
  const dear = { ...price, input: nanoRub(5n) }
  const free = { ...price, input: nanoRub(0n) }

  /** Like the operator that leads a cluster, or an attacker who controls it. */
  async function leads(clusterId: string = randomUUID()) {
    const fence = { clusterId, epoch: await takeEpoch(operator, clusterId, 'a test') }
    const act = <Answer>(work: (client: ScopedClient) => Promise<Answer>) =>
      inTestScope(operator, work, { fence })
    const resourceOf = (kind: 'ApiKey' | 'ModelRoute', subject: string): ClusterResource => ({
      clusterId,
      kind,
      namespace: 'team',
      name: subject.replace('/', '-'),
      uid: subject,
      generation: 1,
      subject,
      revision: null,
      rotationTrigger: null,
      rotatedAt: null,
    })
    const claim = (client: ScopedClient, model: string) =>
      putResource(client, resourceOf('ModelRoute', model))
    const makeKey = async (client: ScopedClient, organizationId: string) => {
      const id = randomUUID()
      await putResource(client, resourceOf('ApiKey', id))
      await insertKey(client, { id, organizationId, name: 'key', managedBy: 'kubernetes' })
      await mintUndelivered(client, id, pepper)
      return id
    }
    return { clusterId, fence, act, resourceOf, claim, makeKey }
  }

  const newModel = () => `a/${randomUUID()}`
  const cabinetRoute = async () => {
    const model = newModel()
    await inTestScope(database.pool, (client) => putRoute(client, storedRoute(model), 'priced'))
    return model
  }

  test('prices a route that its cluster owns, and no other', async () => {
    const { act, claim } = await leads()
    const [own, other, cabinets] = [newModel(), newModel(), await cabinetRoute()]
    await act(async (client) => {
      await claim(client, own)
      await putPrice(client, own, dear)
      await putRoute(client, storedRoute(own), 'priced')
    })
    await act((client) => putPrice(client, own, { ...dear, output: nanoRub(7n) }))
    for (const model of [other, cabinets])
      await expect(act((client) => putPrice(client, model, dear))).rejects.toMatchObject(refused)
  })

  test('sets no price to 0, except of a route marked as free', async () => {
    const { act, claim } = await leads()
    const model = newModel()
    const priced = act(async (client) => {
      await claim(client, model)
      await putPrice(client, model, free)
    })
    await expect(priced).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('set free to true'),
    })
    await act(async (client) => {
      await claim(client, model)
      await putRoute(client, storedRoute(model), 'free')
      await putPrice(client, model, free)
    })
  })

  test('changes, frees, removes and claims no route that the cabinet or another cluster has made', async () => {
    const [one, other] = [await leads(), await leads()]
    const ofOther = newModel()
    await other.act(async (client) => {
      await other.claim(client, ofOther)
      await putRoute(client, storedRoute(ofOther), 'free')
    })
    const cabinets = await cabinetRoute()
    const attacks: readonly ((client: ScopedClient) => Promise<unknown>)[] = [
      (client) => putRoute(client, storedRoute(cabinets), 'free'),
      (client) => removeRoute(client, cabinets),
      (client) => putRoute(client, storedRoute(newModel()), 'free'),
      (client) => one.claim(client, cabinets),
      async (client) => {
        await removeResource(client, other.resourceOf('ModelRoute', ofOther))
        await one.claim(client, ofOther)
      },
    ]
    for (const attack of attacks) await expect(one.act(attack)).rejects.toMatchObject(refused)
  })

  test('passes a route on within its cluster, and removes it', async () => {
    const { act, claim, resourceOf } = await leads()
    const model = newModel()
    const first = resourceOf('ModelRoute', model)
    await act(async (client) => {
      await claim(client, model)
      await putRoute(client, storedRoute(model), 'free')
    })
    await act(async (client) => {
      await removeResource(client, first)
      await putResource(client, { ...first, name: 'heir', uid: 'heir' })
      await putRoute(client, storedRoute(model, { attempts: 2 }), 'free')
      await removeRoute(client, model)
      await removeResource(client, { ...first, name: 'heir' })
    })
  })

  test('creates keys for an organization once its cluster has seen a namespace of it, which is audited once', async () => {
    const { organizationId } = await createCustomer(database.pool)
    const { act, fence, makeKey } = await leads()
    await expect(act((client) => makeKey(client, organizationId))).rejects.toMatchObject(refused)
    await act(async (client) => {
      await observeNamespace(client, fence, 'team', organizationId)
      await makeKey(client, organizationId)
    })
    await act((client) => observeNamespace(client, fence, 'team', organizationId))
    const { rows } = await database.pool.query(
      `select action, subject_id from audit_log where organization_id = $1 and subject_kind = 'Namespace'`,
      [organizationId],
    )
    expect(rows).toEqual([{ action: 'namespace.observe', subject_id: `${fence.clusterId}/team` }])
    const other = await leads()
    await expect(other.act((client) => other.makeKey(client, organizationId))).rejects.toMatchObject(refused)
  })

  test('adds no secret to a key of an organization that it has not seen, and takes none over', async () => {
    const { organizationId, keyId } = await createCustomer(database.pool)
    const { act, fence, resourceOf } = await leads()
    const attacks: readonly ((client: ScopedClient) => Promise<unknown>)[] = [
      (client) => mintUndelivered(client, keyId, pepper),
      (client) => setManagedBy(client, keyId, 'kubernetes'),
    ]
    for (const attack of attacks) {
      await expect(act(attack)).rejects.toMatchObject(refused)
      const claimed = act(async (client) => {
        await putResource(client, resourceOf('ApiKey', keyId))
        await attack(client)
      })
      await expect(claimed).rejects.toMatchObject(refused)
    }
    await act(async (client) => {
      await observeNamespace(client, fence, 'team', organizationId)
      await putResource(client, resourceOf('ApiKey', keyId))
      for (const attack of attacks) await attack(client)
    })
  })

  test('notes nothing with an epoch that is over', async () => {
    const { organizationId } = await createCustomer(database.pool)
    const { fence } = await leads()
    await leads(fence.clusterId)
    const late = inTestScope(operator, (client) => observeNamespace(client, fence, 'team', organizationId))
    await expect(late).rejects.toMatchObject({ code: '55000' })
  })
})

test('a worker may run incremental and full audits of the ledger', async () => {
  expect(await auditBooksIfDue(worker)).toBe(true)
  expect((await lookAtBooks(worker))?.breaches.map(({ name }) => name)).toContain(
    'default_partitions_are_empty',
  )
})

test('no role can grant a trial without a mailbox, because it would count against none', async () => {
  const { organizationId } = await createCustomer(database.pool)
  const given = database.pool.query('select grant_trial(gen_random_uuid(), $1, null)', [organizationId])
  await expect(given).rejects.toMatchObject({ code: '22004' })
})

/** An organization that has a row in everything that organizations own. */
async function filledCustomer(): Promise<string> {
  const customer = await createCustomer(database.pool, { balanceNano: 1_000n })
  const { organizationId } = customer
  await database.pool.query('update organizations set total_budget_nano = 1000 where id = $1', [
    organizationId,
  ])
  await postBatch(database.pool, [entryOf(customer, 7n)])
  const userId = await newUser()
  await database.pool.query(
    `with paid as (insert into payments (id, organization_id, user_id, amount)
                   values (gen_random_uuid(), $1, $2, 1) returning id)
     , asked as (insert into payment_checks (id, payment_id) select gen_random_uuid(), id from paid)
     insert into refunds (id, payment_id, organization_id, amount) select gen_random_uuid(), id, $1, 1 from paid`,
    [organizationId, userId],
  )
  await database.pool.query(
    `with one as (select grant_trial(gen_random_uuid(), $1, uuid_send($1)))
     insert into memberships (organization_id, user_id, role) select $1, $2, 'owner' from one`,
    [organizationId, userId],
  )
  await database.pool.query(
    `insert into invitations (id, organization_id, email, role, invited_by, expires_at)
     values (gen_random_uuid(), $1, 'guest@example.com', 'developer', $2, now() + interval '7 days')`,
    [organizationId, userId],
  )
  await insertManagementToken(database.pool, { organizationId, userId, scopes: ['keys'] })
  return organizationId
}

async function newUser(): Promise<string> {
  const id = randomUUID()
  await database.pool.query(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at)
     values ($1, $2, 'ru', 'x', now(), now())`,
    [id, `${id}@example.com`],
  )
  return id
}

async function countOf(client: Queryable, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return rows[0]?.count ?? 0
}
