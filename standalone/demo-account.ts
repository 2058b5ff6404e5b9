import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { credit } from '#cabinet/credit'
import { createKey } from '#cabinet/key-store'
import type { NanoRub } from '#cabinet/money'
import { createOrganization } from '#cabinet/organization-store'
import { inTransaction } from '#cabinet/transaction'

export type DemoAccount = {
  readonly organization: string
  readonly organizationId: string
  readonly apiKey: string
}

const name = 'demo'

/**
 * The demo organization with its trial balance and its key, made at the first start.
 *
 * The key's value is kept in the data folder, so that a later start prints the one that clients already use.
 */
export async function readOrMakeDemoAccount(
  pool: Pool,
  options: { readonly dataDir: string; readonly keyPepper: string; readonly balance: NanoRub },
): Promise<DemoAccount> {
  const organizationId = await makeOrganization(pool, options.balance)
  const folder = join(options.dataDir, 'keys')
  const file = join(folder, name)
  if (existsSync(file))
    return { organization: name, organizationId, apiKey: readFileSync(file, 'utf8').trim() }
  const { key } = await createKey(pool, { organizationId, name, managedBy: 'cabinet' }, options.keyPepper)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(file, `${key}\n`, { mode: 0o600 })
  return { organization: name, organizationId, apiKey: key }
}

/** Made with its balance in one transaction, so a crash leaves both or neither. */
function makeOrganization(pool: Pool, balance: NanoRub): Promise<string> {
  return inTransaction(pool, async (client) => {
    const { id, created } = await createOrganization(client, name)
    if (created && balance > 0n)
      await credit(client, { organizationId: id, kind: 'trial', refId: id, amount: balance })
    return id
  })
}
