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

/** Objects created from manifests, by name, with their file. Only these are ever removed. */
export type Owned = z.infer<typeof ownedSchema>

/** The objects of earlier runs; empty on the first start. */
export function readOwned(dataDir: string): Owned {
  const file = fileOf(dataDir)
  if (!existsSync(file)) return { providers: {}, routes: {}, keys: {} }
  return ownedSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

/** Records the objects. The write is atomic. */
export function keepOwned(dataDir: string, owned: Owned): void {
  const file = fileOf(dataDir)
  writeFileSync(`${file}.new`, `${JSON.stringify(owned, null, 1)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'manifests.json')
}
