import { z } from 'zod'
import { inScope } from '#core/audit/scope'
import { runOnDatabase } from '#core/db/run-on-database'
import { laneCountMax, readLaneCount, setLanes } from '#core/ledger/lanes'
import { findOrganization } from '#core/organizations/organization-store'

/** `npm run lanes -- NAME [COUNT]`: gives an organization more ledger lanes, or prints how many it has. */
const [name = '', count] = process.argv.slice(2)
const asked = z
  .object({ NAME: z.string().min(1), COUNT: z.coerce.number().int().min(1).max(laneCountMax).optional() })
  .safeParse({ NAME: name, COUNT: count })
if (!asked.success || process.argv.length > 4) {
  process.stderr.write(
    `Usage: npm run lanes -- NAME [COUNT]\nNAME is the name of an organization, COUNT a whole number from 1 to ${laneCountMax}.\n`,
  )
  process.exit(2)
}
const wanted = asked.data.COUNT
await runOnDatabase('lanes', process.env, async (pool) => {
  const organization = await findOrganization(pool, name)
  if (organization === undefined) return fail(`Organization ${name} not found. Check the name.`)
  const { id } = organization
  if (wanted === undefined) return print(`Organization ${name} has ${lanes(await readLaneCount(pool, id))}.`)
  const scope = { actor: { kind: 'command', name: 'npm run lanes' }, organizationId: null } as const
  const before = await inScope(pool, scope, (client) => setLanes(client, id, wanted))
  if (before !== undefined && wanted < before)
    return fail(
      `Organization ${name} has ${lanes(before)}. It cannot have fewer: each lane has entries of the ledger.`,
    )
  return print(
    before === wanted
      ? `Organization ${name} already has ${lanes(wanted)}.`
      : `Organization ${name} now has ${lanes(wanted)}; it had ${before}.`,
  )
})

function lanes(count: number | undefined): string {
  return count === 1 ? '1 lane' : `${count} lanes`
}

function print(sentence: string): void {
  process.stdout.write(`${sentence}\n`)
}

function fail(sentence: string): void {
  process.stderr.write(`${sentence}\n`)
  process.exitCode = 1
}
