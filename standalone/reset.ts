import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { removeDataFolder } from './postgres-account.ts'

/** Removes the data folder of `npm start`, and nothing that is not one. */
const dataDir = resolve(process.env.DATA_DIR ?? '.data')
if (!existsSync(dataDir)) process.stdout.write(`Nothing to remove: ${dataDir} does not exist.\n`)
else if (!existsSync(join(dataDir, 'secrets.json'))) {
  process.stderr.write(`${dataDir} was not made by npm start (it has no secrets.json); it stays as it is.\n`)
  process.exitCode = 1
} else {
  await removeDataFolder(join(dataDir, 'postgres'))
  rmSync(dataDir, { recursive: true })
  process.stdout.write(`Removed ${dataDir}.\n`)
}
