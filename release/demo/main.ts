import { z } from 'zod'
import { inScope } from '#cabinet/audit/scope'
import { createPool } from '#cabinet/db/pool'
import { watchDatabase } from '#cabinet/db/watch-database'
import { roublesSetting } from '#cabinet/ledger/money-setting'
import { readOrMakeOrganization } from '#cabinet/organizations/funded-organization'
import { httpUrlSetting, postgresUrlSetting, readEnvironment } from '#cabinet/process/environment'
import { ignoreInspectorSignal } from '#cabinet/process/inspector'
import { organizationName } from '#crds/resource'
import { putDemoCatalogue } from '#standalone/demo-catalogue'

/** Fills the database of a trial: an organization with play money, and the models of the demo provider. */
const envSchema = z.object({
  /** As the owner. */
  DATABASE_URL: postgresUrlSetting,
  DEMO_ORGANIZATION: organizationName,
  DEMO_BALANCE_RUB: roublesSetting,
  /** Base URL of the demo provider, ending with `/v1`. */
  DEMO_PROVIDER_URL: httpUrlSetting,
})

ignoreInspectorSignal()
const env = readEnvironment('the Job that fills the trial', envSchema, process.env)
const pool = createPool({
  databaseUrl: env.DATABASE_URL,
  applicationName: 'model-gateway-demo',
  connectionCountMax: 1,
})
// The Job that migrates the database runs at the same time.
const watch = watchDatabase(pool, {
  info: () => undefined,
  warn: (facts, message) => say(JSON.stringify({ ...facts, message })),
})
await watch.isFit
const scope = { actor: { kind: 'command', name: 'helm install' }, organizationId: null } as const
await inScope(pool, scope, (client) =>
  readOrMakeOrganization(client, env.DEMO_ORGANIZATION, env.DEMO_BALANCE_RUB),
)
await putDemoCatalogue(pool, env.DEMO_PROVIDER_URL)
say(`Organization ${env.DEMO_ORGANIZATION} and the demo models are there.`)
await pool.end()

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
