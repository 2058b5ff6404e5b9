import { randomUUID } from 'node:crypto'
import { afterAll } from 'vitest'
import { formatRub, nanoRub } from '#core/ledger/money'
import { shardOf } from '#core/redis/shard'
import { startTill, type Till } from '#standalone/yookassa/start-till'
import { type TestDatabase, urlAs } from './postgres.ts'
import { type Process, startProcess } from './processes.ts'
import { type Stack, stackOfThisFile } from './stack.ts'
import { driveTill, shopSettingsOf, testShop } from './till.ts'

/**
 * The source address of the test payment provider's notifications: the only one that a webhook receiver
 * accepts by default.
 */
export const listedAddress = '127.0.0.2'

export const webhookSecret = 'secret-of-the-webhook-in-these-tests'

/** Test payment provider, webhook receivers and workers, each a separate process except the first. */
export type MoneyIn = {
  readonly stack: Stack
  readonly till: Till
  readonly drive: ReturnType<typeof driveTill>
  /** Of each receiver, where notifications go. */
  readonly webhooks: readonly [string, string]
  readonly receivers: readonly Process[]
  readonly workers: readonly Process[]
  /** What a web process needs in order to take payments. */
  readonly shopEnv: Readonly<Record<string, string>>
  /** Whatever receivers and workers have logged. */
  readonly lines: readonly string[]
  readonly hear: (line: string) => void
}

/**
 * Two webhook receivers, two workers and a test payment provider that sends no notification by itself; they
 * end with this test file.
 */
export async function moneyInOfThisFile(env: Readonly<Record<string, string>> = {}): Promise<MoneyIn> {
  const stack = await stackOfThisFile()
  const till = await startTill({ ...testShop, notifyFrom: listedAddress })
  const drive = driveTill(till.url)
  await drive.set({ notifications: 'held' })
  const shopEnv = shopSettingsOf(till)
  const lines: string[] = []
  const hear = (line: string) => void lines.push(line)
  const startBoth = <Started>(start: () => Promise<Started>) => Promise.all([start(), start()])
  // There are no requests here: Redis needs few updates.
  const workerEnv = { ...shopEnv, RENEW_EVERY_MS: '5000', LEASE_MS: '20000', ...env }
  const receivers = await startBoth(() => startReceiver(stack.database, env, hear))
  const workers = await startBoth(() => stack.startWorker(workerEnv, hear))
  afterAll(async () => {
    await Promise.all(receivers.map((receiver) => receiver.kill()))
    await till.stop()
  })
  const webhooks = [webhookOf(receivers[0]), webhookOf(receivers[1])] as const
  return { stack, till, drive, webhooks, receivers, workers, shopEnv, lines, hear }
}

/** A receiver of notifications, with the permissions of its role. */
export function startReceiver(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
  onLine?: (line: string) => void,
): Promise<Process> {
  return startProcess(
    'cabinet/webhook/main.ts',
    {
      DATABASE_URL: urlAs('model_gateway_webhook', database.url),
      WEBHOOK_SECRET: webhookSecret,
      WEBHOOK_ALLOWED_CIDRS: listedAddress,
      WEBHOOK_PORT: '0',
      WEBHOOK_ADMIN_PORT: '0',
      WEBHOOK_HOST: '127.0.0.1',
      ...env,
    },
    onLine,
  )
}

/** Where a receiver takes notifications. */
export function webhookOf({ baseUrl }: Process): string {
  return `${new URL(baseUrl).origin}/webhooks/yookassa?secret=${webhookSecret}`
}

/** A payment as it is made here: not known to the provider yet. */
export type MadePayment = { readonly id: string; readonly organizationId: string }

/**
 * So many users want to pay, each for a separate organization, and the process that should have called the
 * provider has died: a worker should make the calls now.
 *
 * @param callOf the parameters of one
 */
export async function notePayments(
  { database: { pool } }: Stack,
  count: number,
  amountNano: bigint,
  callOf: (id: string) => object,
): Promise<readonly MadePayment[]> {
  const made = Array.from({ length: count }, () => ({ id: randomUUID(), organizationId: randomUUID() }))
  const organizations = made.map(({ organizationId }) => organizationId)
  const people = made.map(() => randomUUID())
  await pool.query(
    `insert into organizations (id, name, shard) select id, 'org-' || id, shard from unnest($1::uuid[], $2::int[]) o (id, shard)`,
    [organizations, organizations.map(shardOf)],
  )
  await pool.query(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at, email_confirmed_at)
     select id, id || '@example.com', 'en', '!', now(), now(), now() from unnest($1::uuid[]) u (id)`,
    [people],
  )
  await pool.query(
    `insert into memberships (organization_id, user_id, role)
     select organization_id, user_id, 'owner' from unnest($1::uuid[], $2::uuid[]) m (organization_id, user_id)`,
    [organizations, people],
  )
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, address_hash, call_body, next_call_at)
     select id, organization_id, user_id, $5, sha256(user_id::text::bytea), call_body, clock_timestamp()
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) p (id, organization_id, user_id, call_body)`,
    [
      made.map(({ id }) => id),
      organizations,
      people,
      made.map(({ id }) => JSON.stringify(callOf(id))),
      amountNano,
    ],
  )
  await pool.query(wakeWorkers)
  return made
}

/** What a notification would do: workers look at once for what is due. */
export const wakeWorkers = "select pg_notify('model_gateway_changes', 'webhooks')"

/** A payment in our rows and in the ledger. Rubles as text; entries and refunds sorted. */
export type PaymentState = {
  readonly providerId: string | null
  readonly status: string
  readonly refunded: string
  readonly refunds: readonly string[]
  readonly entries: readonly string[]
  readonly bonuses: number
  readonly bonusesTaken: number
}

/** The state of each payment by its id; entries are those of its organization. */
export async function readPaymentStates(
  { database: { pool } }: Stack,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PaymentState>> {
  const { rows } = await pool.query<{
    id: string
    providerId: string | null
    status: string
    refunded: bigint
    refunds: readonly { readonly id: string; readonly amount: number; readonly status: string }[]
    entries: readonly { readonly kind: string; readonly amount: number }[]
    bonuses: number
    bonusesTaken: number
  }>(
    `select p.id, p.provider_id as "providerId", p.status, p.refunded,
            (select coalesce(json_agg(json_build_object('id', provider_id, 'amount', amount, 'status', r.status)), '[]')
               from refunds r where r.payment_id = p.id) as refunds,
            (select coalesce(json_agg(json_build_object('kind', kind, 'amount', amount)), '[]')
               from balance_ledger l where l.organization_id = p.organization_id) as entries,
            (select count(*)::int from bonuses b where b.payment_id = p.id) as bonuses,
            (select count(reversed_at)::int from bonuses b where b.payment_id = p.id) as "bonusesTaken"
       from payments p where p.id = any ($1)`,
    [ids],
  )
  return new Map(
    rows.map(({ id, refunded, refunds, entries, ...state }) => [
      id,
      {
        ...state,
        refunded: rubOf(refunded),
        refunds: refunds.map((one) => `${one.id} ${rubOf(one.amount)} ${one.status}`).toSorted(),
        entries: entries.map(({ kind, amount }) => `${kind} ${rubOf(amount)}`).toSorted(),
      },
    ]),
  )
}

function rubOf(nano: bigint | number): string {
  return formatRub(nanoRub(BigInt(nano)))
}
