import { z } from 'zod'
import { createPool } from '../db/pool.ts'
import { findRub, formatRub } from '../ledger/money.ts'
import { readOrMakeOrganization } from './trial-organization.ts'

/** `npm run organization -- NAME [ROUBLES]`: makes an organization with a trial balance, for whom nobody registers. */
const [name = '', roubles = '0'] = process.argv.slice(2)
const asked = z
  .object({
    DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// address' }),
    NAME: z
      .string()
      .regex(
        /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
        'must be lower-case letters, digits and hyphens, at most 63',
      ),
    ROUBLES: z.string().transform((text, context) => {
      const amount = findRub(text)
      if (amount !== undefined && amount >= 0n) return amount
      context.addIssue('must be roubles like 1000 or 0.50')
      return z.NEVER
    }),
  })
  .safeParse({ DATABASE_URL: process.env.DATABASE_URL, NAME: name, ROUBLES: roubles })
if (!asked.success) {
  const wrong = asked.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
  process.stderr.write(`usage: npm run organization -- NAME [ROUBLES]\n${wrong.join('\n')}\n`)
  process.exit(2)
}

const { DATABASE_URL: databaseUrl, ROUBLES: balance } = asked.data
const pool = createPool({ databaseUrl, applicationName: 'model-gateway-organization' })
try {
  const { id, created } = await readOrMakeOrganization(pool, name, balance)
  process.stdout.write(
    created ? `made ${name} (${id}) with ${formatRub(balance)} ₽\n` : `${name} (${id}) is there already\n`,
  )
} finally {
  await pool.end()
}
