import { z } from 'zod'
import { organizationName } from '#crds/resource'
import { inScope } from '../audit/scope.ts'
import { runOnDatabase } from '../db/run-on-database.ts'
import { formatRub } from '../ledger/money.ts'
import { rublesSetting } from '../ledger/money-setting.ts'
import { readOrMakeOrganization } from './funded-organization.ts'

/**
 * `npm run organization -- NAME [RUBLES]`: creates an organization without registration, optionally with
 * money.
 */
const [name = '', rubles = '0'] = process.argv.slice(2)
const asked = z
  .object({ NAME: organizationName, RUBLES: rublesSetting })
  .safeParse({ NAME: name, RUBLES: rubles })
if (!asked.success) {
  const wrong = asked.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
  process.stderr.write(`Usage: npm run organization -- NAME [RUBLES]\n${wrong.join('\n')}\n`)
  process.exit(2)
}
const balance = asked.data.RUBLES
await runOnDatabase('organization', process.env, async (pool) => {
  const scope = { actor: { kind: 'command', name: 'npm run organization' }, organizationId: null } as const
  const { id, created } = await inScope(pool, scope, (client) =>
    readOrMakeOrganization(client, name, balance),
  )
  process.stdout.write(
    created
      ? `Created organization ${name} (${id}) with a balance of ${formatRub(balance)} ₽.\n`
      : `Organization ${name} (${id}) already exists; its balance was not changed.\n`,
  )
})
