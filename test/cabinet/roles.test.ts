import { describe, expect, test } from 'vitest'
import { checkInvariants } from '#cabinet/ledger/invariants'
import { postBatch } from '#cabinet/ledger/post-batch'
import { createCustomer, entryOf } from '../support/customer.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'

// That each role is enough for its job is proven by every other test: their processes have these roles (stack.ts).
const database = await databaseOfThisFile()

const refusedToAll = [
  'insert into balance_ledger default values',
  'delete from balance_ledger',
  'truncate balance_ledger',
  'update org_account set balance = 0',
  'update requests set cost = 0',
  'delete from requests',
  'update key_daily_spend set amount = 0',
  'update api_keys set owner_blocked_at = null',
  'update api_keys set admin_blocked_at = null',
  'update api_keys set organization_id = gen_random_uuid()',
  "update api_key_credentials set hash = 'x'",
  'delete from api_keys',
  'delete from api_key_credentials',
  'insert into organizations (id, name, shard) values (gen_random_uuid(), null, 0)',
  'update organizations set shard = 1',
  'update model_prices set input = 0',
  'insert into model_prices (valid_from) values (now())',
  'insert into model_prices (scheduled) values (true)',
  'update catalogue_revision set revision = 0',
  "select post_credit(gen_random_uuid(), 'trial', gen_random_uuid(), 1, now())",
  "select post_round('[]', 1)",
  'insert into schema_migrations default values',
  "update key_pepper set check_value = 'x'",
  "update audit_log set action = 'a.b'",
  'delete from audit_log',
  'create table stray ()',
]

const refused = {
  model_gateway_worker: [
    'update api_keys set rpm = 1',
    'update api_keys set kubernetes_blocked_at = null',
    'update api_keys set revoked_at = null',
    'insert into api_key_credentials default values',
    'update api_key_credentials set revoked_at = null',
    'update api_key_credentials set delivered_at = now()',
    'insert into model_providers default values',
    'update model_routes set free = true',
    'insert into charges_rejected default values',
    'select from cluster_epochs',
    'insert into cluster_epochs default values',
    'insert into cluster_resources default values',
    "select is_key_pepper('x')",
  ],
  model_gateway_operator: [
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
    'select from org_account',
    'select from balance_ledger',
    'select from organizations',
    'select from model_providers',
    'select document from model_routes',
    'select name from api_keys',
    'select prefix from api_key_credentials',
    'select from audit_log',
    "insert into audit_log (action) values ('a.b')",
    'select from key_pepper',
    'update api_keys set rpm = 1',
    'update api_keys set revoked_at = now()',
    'insert into api_key_credentials default values',
    'insert into model_providers default values',
    'delete from model_routes',
    'insert into cluster_resources default values',
    'select current_catalogue_revision()',
    "select post_batch('[]')",
    "select reject_charge(0::smallint, '', '', '', '')",
    'select ensure_partitions(1)',
    'select lift_catalogue_revision(9)',
    'select restamp_changes(1)',
  ],
}

describe.each(Object.entries(refused))('%s may not', (role, ofItsOwn) => {
  const pool = poolAs(role, database)

  test.each([...refusedToAll, ...ofItsOwn])('%s', async (sql) => {
    await expect(pool.query(sql)).rejects.toMatchObject({ code: '42501' })
  })
})

const worker = poolAs('model_gateway_worker', database)

test('a worker books charges, as one who may write no row of the ledger', async () => {
  const customer = await createCustomer(database.pool, { balanceNano: 1_000n })
  const { balances } = await postBatch(worker, [entryOf(customer, 7n)])
  expect(balances).toHaveLength(1)
})

test('a worker may read all that an audit of the books looks at', async () => {
  const reports = await checkInvariants(worker)
  expect(reports.map(({ name }) => name)).toContain('default_partitions_are_empty')
})
