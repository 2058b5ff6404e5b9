import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readCatalog } from '#core/catalog/catalog-store'
import { hashKey, type KeySecret } from '#core/keys/key'
import { revokeKey } from '#core/keys/key-store'
import { readBalance } from '#core/ledger/balance'
import { nanoRub } from '#core/ledger/money'
import { createManifestApplier } from '#standalone/manifests/internal/apply-manifests'
import { keepOwned, readOwned } from '#standalone/manifests/internal/owned'
import { type Plan, planManifests } from '#standalone/manifests/internal/plan-manifests'
import { createFolderReader } from '#standalone/manifests/internal/read-folder'
import { pepper } from '../support/customer.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { createDatabase } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const database = await createDatabase()
const { pool } = database
afterAll(() => database[Symbol.asyncDispose]())

const head = 'apiVersion: modelgateway.dev/v1alpha1\n'

/** A folder, a data folder, and looks at the one by processes that know only the other. */
function installation(name: string) {
  const folder = folderOfThisTest('apply')
  const dataDir = folderOfThisTest('apply-data')
  return {
    dataDir,
    write: (...documents: readonly string[]) =>
      writeFileSync(join(folder, 'all.yaml'), documents.join('---\n')),
    forgetOwned: () => rmSync(join(dataDir, 'manifests.json')),
    forgetValue: () => rmSync(join(dataDir, 'keys', name)),
    /** Applies the folder like a newly started process. Returns the reported keys and problems. */
    async apply(edit: (plan: Plan) => Plan = (plan) => plan): Promise<readonly string[]> {
      const said: string[] = []
      const applier = createManifestApplier({
        pool,
        dataDir,
        keyPepper: pepper,
        sealingKeys: [Buffer.alloc(32, 7)],
        openingBalance: nanoRub(5_000_000_000n),
        onKeySecret: (_name, value) => said.push(value),
      })
      const plan = planManifests(await createFolderReader(folder).read(), readOwned(dataDir), {
        LLM_KEY: 'secret',
      })
      expect(plan.problems).toEqual([])
      for (const { position, what, reason } of await applier.apply(edit(plan), readOwned(dataDir)))
        said.push(`${basename(position.file)}:${position.line} ${what}: ${reason}`)
      return said
    },
  }
}

function provider(name: string): string {
  return `${head}kind: ModelProvider\nmetadata: {name: ${name}}\nspec:\n  api: OpenAI\n  baseURL: https://llm.example/v1\n  auth: {type: Bearer, secretRef: {name: llm, key: key}}\n`
}

function route(model: string, providerName: string, access = ''): string {
  return `${head}kind: ModelRoute\nmetadata: {name: ${model.replace('/', '.')}}\nspec:\n  model: ${model}\n  backends: [{name: main, providerRef: {name: ${providerName}}, model: m}]\n  pricingRubPerMillionTokens: {input: "1", output: "2"}\n${access}`
}

function key(name: string, organization: string, spec = ''): string {
  return `${head}kind: ApiKey\nmetadata: {name: ${name}}\nspec:\n  organization: ${organization}\n${spec}`
}

/** All changes by manifests. */
async function auditRows() {
  const { rows } = await pool.query<{ actor: string; action: string; reason: string | null }>(
    "select actor_kind || ' ' || actor_id as actor, action, reason from audit_log order by id",
  )
  return rows
}

/** Whether a key's text opens anything: the secret and the key behind it are not revoked. */
async function opens(text: string): Promise<boolean> {
  const { rows } = await pool.query(
    `select from api_key_credentials c join api_keys k on k.id = c.key_id
      where c.hash = $1 and c.revoked_at is null and k.revoked_at is null
        and (c.valid_until is null or c.valid_until > now())`,
    [hashKey(text as KeySecret, pepper)],
  )
  return rows.length === 1
}

test('the same manifests again, after a restart too, write nothing: no revision moves and no key is made', async () => {
  const place = installation('same')
  place.write(
    provider('same'),
    route('same/open', 'same'),
    route('same/closed', 'same', '  access: {scope: Organizations, organizations: [same]}\n'),
    key('same', 'same'),
  )
  expect(await place.apply()).toHaveLength(1)
  const before = await readCatalog(pool)
  const changes = await auditRows()
  const ofKey = changes.filter(({ action }) => action.startsWith('key.'))
  const reason = expect.stringMatching(/^manifest .*all\.yaml$/)
  expect(ofKey).toEqual(
    ['key.create', 'key.add_secret', 'key.deliver_secret'].map((action) => ({
      actor: 'command npm start',
      action,
      reason,
    })),
  )
  expect(await place.apply()).toEqual([])
  expect(await auditRows()).toEqual(changes)
  const after = await readCatalog(pool)
  expect(after).toEqual(before)
  const closed = after.routes.find(({ model }) => model === 'same/closed')
  const [organizationId = ''] = closed?.organizations ?? []
  expect(await readBalance(pool, organizationId)).toBe(5_000_000_000n)
})

test('what is not asked for any more is gone, and nothing else', async () => {
  const place = installation('gone')
  place.write(provider('gone'), route('gone/a', 'gone'), route('gone/b', 'gone'))
  await place.apply()
  place.write(provider('gone'), route('gone/b', 'gone'))
  await place.apply()
  const { providers, routes } = await readCatalog(pool)
  expect(routes.map(({ model }) => model).filter((model) => model.startsWith('gone/'))).toEqual(['gone/b'])
  expect(providers.map(({ name }) => name)).toEqual(expect.arrayContaining(['gone', 'same']))
})

test('a key that was made by a run that died is taken over, with a new value only where none was kept', async () => {
  const place = installation('died')
  place.write(key('died', 'died'))
  const [first = ''] = await place.apply()
  place.forgetOwned() // died between the file and the note
  expect(await place.apply()).toEqual([])
  expect(await opens(first)).toBe(true)
  place.forgetOwned()
  place.forgetValue() // died between the database and the file
  const [second = ''] = await place.apply()
  expect([await opens(first), await opens(second)]).toEqual([false, true])
  const { rows } = await pool.query("select from api_keys where name = 'died'")
  expect(rows).toHaveLength(1)
})

test('a secret stored by a run that died before reporting it is delivered, and stays', async () => {
  const place = installation('kept')
  place.write(key('kept', 'kept'))
  const [first = ''] = await place.apply()
  const hash = hashKey(first as KeySecret, pepper)
  await pool.query('update api_key_credentials set delivered_at = null where hash = $1', [hash])
  place.forgetOwned()
  expect(await place.apply()).toEqual([])
  const { rows } = await pool.query('select delivered_at from api_key_credentials where hash = $1', [hash])
  expect(rows).toEqual([{ delivered_at: expect.any(Date) }])
  expect(await opens(first)).toBe(true)
})

test('a key whose file its owner moved keeps its secret; with none left that opens it, it gets a new one, unless revoked', async () => {
  const place = installation('moved')
  place.write(key('moved', 'moved'))
  const [first = ''] = await place.apply()
  place.forgetValue()
  expect(await place.apply()).toEqual([])
  expect(await opens(first)).toBe(true)
  const { keyId = '' } = readOwned(place.dataDir).keys.moved ?? {}
  await pool.query('update api_key_credentials set revoked_at = now() where key_id = $1', [keyId])
  const [second = ''] = await place.apply()
  expect([await opens(first), await opens(second)]).toEqual([false, true])
  await inTestScope(pool, (client) => revokeKey(client, keyId))
  expect(await place.apply()).toEqual([])
})

test('a key that is noted, but not in this database, is made', async () => {
  const place = installation('elsewhere')
  const elsewhere = {
    file: 'all.yaml',
    keyId: randomUUID(),
    organization: 'elsewhere',
    rotationTrigger: null,
    deletionPolicy: 'Revoke',
  } as const
  keepOwned(place.dataDir, { providers: {}, routes: {}, keys: { elsewhere } })
  place.write(key('elsewhere', 'elsewhere'))
  const [made = ''] = await place.apply()
  expect(await opens(made)).toBe(true)
  expect(readOwned(place.dataDir).keys.elsewhere?.keyId).not.toBe(elsewhere.keyId)
})

test('a rotated key keeps its old value for the grace; a removed one opens nothing, an orphan goes on', async () => {
  const place = installation('turned')
  place.write(
    key('turned', 'turned', '  rotation: {trigger: a, gracePeriod: 1h}\n'),
    key('orphan', 'turned', '  deletionPolicy: Orphan\n'),
  )
  const [first = '', orphan = ''] = await place.apply()
  place.write(
    key('turned', 'turned', '  rotation: {trigger: b, gracePeriod: 1h}\n'),
    key('orphan', 'turned', '  deletionPolicy: Orphan\n'),
  )
  const [second = ''] = await place.apply()
  expect([await opens(first), await opens(second), await opens(orphan)]).toEqual([true, true, true])
  place.write('# nothing any more\n')
  expect(await place.apply()).toEqual([])
  expect([await opens(first), await opens(second), await opens(orphan)]).toEqual([false, false, true])
})

test('a document that the database refuses is named with file and line, and everything else is applied', async () => {
  const place = installation('nul')
  place.write(
    provider('nul'),
    provider('nul-bad'),
    route('nul/good', 'nul'),
    route('nul/bad', 'nul'),
    route('nul/last', 'nul'),
    key('nul-bad', 'nul'),
    key('nul-last', 'nul'),
  )
  // No text of a resource may hold it any more; what the database refuses beyond the schemas is not known beforehand.
  const nul = 'a\0b'
  const [newKey, ...refused] = await place.apply((plan) => ({
    ...plan,
    providers: plan.providers.map((one) => {
      const document = { ...one.draft.document, headers: [{ name: 'x', value: nul }] }
      return one.draft.document.name === 'nul-bad' ? { ...one, draft: { ...one.draft, document } } : one
    }),
    routes: plan.routes.map((one) =>
      one.route.model === 'nul/bad' ? { ...one, route: { ...one.route, description: nul } } : one,
    ),
    keys: plan.keys.map((one) =>
      one.name === 'nul-bad' ? { ...one, limits: { ...one.limits, allowedModels: [nul] } } : one,
    ),
  }))
  expect(await opens(newKey ?? '')).toBe(true)
  expect(refused).toEqual([
    'all.yaml:9 ModelProvider "nul-bad": the database rejected it: unsupported Unicode escape sequence',
    'all.yaml:25 ModelRoute "nul.bad": the database rejected it: unsupported Unicode escape sequence',
    'all.yaml:41 ApiKey "nul-bad": the database rejected it: invalid byte sequence for encoding "UTF8": 0x00',
  ])
  const { routes } = await readCatalog(pool)
  const models = routes.map(({ model }) => model).filter((model) => model.startsWith('nul/'))
  expect(models).toEqual(['nul/good', 'nul/last'])
})
