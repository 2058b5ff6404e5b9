import { z } from 'zod'
import { inScope } from '#core/audit/scope'
import { createPool } from '#core/db/pool'
import { watchDatabase } from '#core/db/watch-database'
import { rublesSetting } from '#core/ledger/money-setting'
import { readOrMakeOrganization } from '#core/organizations/funded-organization'
import { httpUrlSetting, postgresUrlSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { organizationName } from '#crds/resource'
import { putDemoCatalog } from '#standalone/demo-catalog'

/** Fills the database of a demo: an organization with test money, and the models of the demo provider. */
const envSchema = z.object({
  /** The database owner's URL. */
  DATABASE_URL: postgresUrlSetting,
  DEMO_ORGANIZATION: organizationName,
  DEMO_BALANCE_RUB: rublesSetting,
  /** Base URL of the demo provider, ending with `/v1`. */
  DEMO_PROVIDER_URL: httpUrlSetting,
})

ignoreInspectorSignal()
const env = readEnvironment('the Job that fills the demo', envSchema, process.env)
const pool = createPool({
  databaseUrl: env.DATABASE_URL,
  applicationName: 'model-gateway-demo',
  connectionCountMax: 1,
})
// The migration Job runs at the same time.
const watch = watchDatabase(pool, {
  info: () => undefined,
  warn: (facts, message) => say(JSON.stringify({ ...facts, message })),
})
await watch.isFit
const scope = { actor: { kind: 'command', name: 'helm install' }, organizationId: null } as const
await inScope(pool, scope, (client) =>
  readOrMakeOrganization(client, env.DEMO_ORGANIZATION, env.DEMO_BALANCE_RUB),
)
await putDemoCatalog(pool, env.DEMO_PROVIDER_URL)
say(`Created organization ${env.DEMO_ORGANIZATION} and the demo models.`)
await pool.end()

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
