import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readDataDir } from './config.ts'
import { findFolderUser } from './folder-user.ts'
import { removeDataFolder } from './server-account.ts'

/** Removes the data folder of `npm start`, unless the folder is something else or is in use. */
const dataDir = readDataDir(process.env)
const user = findFolderUser(dataDir)
if (!existsSync(dataDir)) process.stdout.write(`Nothing to remove: ${dataDir} does not exist.\n`)
else if (!existsSync(join(dataDir, 'secrets.json')))
  refuse(`${dataDir} was not removed: it has no secrets.json, so npm start did not create it.`)
else if (user !== undefined)
  refuse(`${dataDir} was not removed: npm start (process ${user}) is using it. Stop it first.`)
else {
  await removeDataFolder(join(dataDir, 'postgres'))
  rmSync(dataDir, { recursive: true })
  process.stdout.write(`Removed ${dataDir}.\n`)
}

function refuse(why: string): void {
  process.stderr.write(`${why}\n`)
  process.exitCode = 1
}
