import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const ownedSchema = z.object({
  providers: z.record(z.string(), z.object({ file: z.string() })),
  /** By model. */
  routes: z.record(z.string(), z.object({ file: z.string(), name: z.string().default('') })),
  keys: z.record(
    z.string(),
    z.object({
      file: z.string(),
      keyId: z.string(),
      organization: z.string(),
      rotationTrigger: z.string().nullable(),
      deletionPolicy: z.enum(['Revoke', 'Orphan']),
    }),
  ),
})

/** What was put into the database from manifests, by name, and from which file: only that is ever removed. */
export type Owned = z.infer<typeof ownedSchema>

/** What earlier runs have put there; nothing at the first start. */
export function readOwned(dataDir: string): Owned {
  const file = fileOf(dataDir)
  if (!existsSync(file)) return { providers: {}, routes: {}, keys: {} }
  return ownedSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

/** Notes it, whole or not at all. */
export function keepOwned(dataDir: string, owned: Owned): void {
  const file = fileOf(dataDir)
  writeFileSync(`${file}.new`, `${JSON.stringify(owned, null, 1)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'manifests.json')
}
