import { z } from 'zod'
import { inScope } from '#cabinet/audit/scope'
import { isUnavailability } from '#cabinet/db/availability'
import { createPool } from '#cabinet/db/pool'
import { roublesSetting } from '#cabinet/ledger/money-setting'
import { readOrMakeOrganization } from '#cabinet/organizations/funded-organization'
import { httpUrlSetting, postgresUrlSetting, readEnvironment } from '#cabinet/process/environment'
import { ignoreInspectorSignal } from '#cabinet/process/inspector'
import { tryAgain } from '#cabinet/process/try-again'
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

const undefinedTable = '42P01'

ignoreInspectorSignal()
const env = readEnvironment('the Job that fills the trial', envSchema, process.env)
const pool = createPool({
  databaseUrl: env.DATABASE_URL,
  applicationName: 'model-gateway-demo',
  connectionCountMax: 1,
})
const scope = { actor: { kind: 'command', name: 'helm install' }, organizationId: null } as const
await tryAgain(
  () =>
    inScope(pool, scope, (client) =>
      readOrMakeOrganization(client, env.DEMO_ORGANIZATION, env.DEMO_BALANCE_RUB),
    ),
  isNotReady,
  () => process.stdout.write('The database is not ready yet; trying again in 2 s.\n'),
)
await putDemoCatalogue(pool, env.DEMO_PROVIDER_URL)
process.stdout.write(`Organization ${env.DEMO_ORGANIZATION} and the demo models are there.\n`)
await pool.end()

/** The Job that migrates the database runs at the same time. */
function isNotReady(error: unknown): boolean {
  return (
    (error instanceof Error && 'code' in error && error.code === undefinedTable) || isUnavailability(error)
  )
}
