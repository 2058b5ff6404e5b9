import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import { findCallerByHash } from '#core/keys/find-caller'
import { findKey, hashKey } from '#core/keys/key'
import { createKey } from '#core/keys/key-store'
import type { NanoRub } from '#core/ledger/money'
import { readOrMakeOrganization } from '#core/organizations/funded-organization'
import { findKeptKey, keepKey } from './keys/key-file.ts'

export type DemoAccount = {
  readonly organization: string
  readonly organizationId: string
  readonly apiKey: string
  /** The key, if this start created the organization. It is unused so far. */
  readonly freshKeyId: string | undefined
}

const name = 'demo'

/**
 * The demo organization with its opening balance and its key, created on the first start.
 *
 * The secret is kept in the data folder, so that later starts print the same key.
 */
export async function readOrMakeDemoAccount(
  pool: Pool,
  options: { readonly dataDir: string; readonly keyPepper: string; readonly balance: NanoRub },
): Promise<DemoAccount> {
  const scope = { actor: { kind: 'command', name: 'npm start' }, organizationId: null } as const
  const { id: organizationId, created } = await inScope(pool, scope, (client) =>
    readOrMakeOrganization(client, name, options.balance),
  )
  const kept = findKeptKey(options.dataDir, name)
  if (kept !== undefined && (await isOfThisDatabase(pool, kept, options.keyPepper)))
    return { organization: name, organizationId, apiKey: kept, freshKeyId: undefined }
  const demoKey = { organizationId, name, managedBy: 'cabinet' } as const
  const { keyId, secret } = await inScope(pool, { ...scope, organizationId }, (client) =>
    createKey(client, demoKey, options.keyPepper),
  )
  keepKey(options.dataDir, name, secret)
  return { organization: name, organizationId, apiKey: secret, freshKeyId: created ? keyId : undefined }
}

async function isOfThisDatabase(pool: Pool, kept: string, keyPepper: string): Promise<boolean> {
  const found = findKey(kept, keyPepper)
  return (
    found !== undefined && (await findCallerByHash(pool, hashKey(found.key, keyPepper))).state !== 'unknown'
  )
}
