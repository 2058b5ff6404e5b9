import { z } from 'zod'
import {
  countSetting,
  hostSetting,
  logLevelSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  secretSetting,
} from '../process/environment.ts'

const envSchema = z.object({
  DATABASE_URL: postgresUrlSetting,
  KEY_PEPPER: secretSetting,
  CABINET_PORT: portSetting.default(3000),
  CABINET_ADMIN_PORT: portSetting.default(9092),
  CABINET_HOST: hostSetting,
  CABINET_RECEIPTS_PER_MINUTE: countSetting.default(60),
  LOG_LEVEL: logLevelSetting,
})

/** The settings of the cabinet's web process; the README of this folder has the table. */
export type WebConfig = {
  readonly databaseUrl: string
  /** Key of the HMAC that stands for API keys; the same in every process. */
  readonly keyPepper: string
  readonly port: number
  readonly adminPort: number
  readonly host: string
  /** Receipts that one key may read in a minute, from one replica. */
  readonly receiptsPerMinute: number
  readonly logLevel: string
}

/** Reads the settings, once, at start-up. @throws BadEnvironment naming every wrong variable, and no value. */
export function readConfig(env: NodeJS.ProcessEnv): WebConfig {
  const data = readEnvironment("the cabinet's web process", envSchema, env)
  return {
    databaseUrl: data.DATABASE_URL,
    keyPepper: data.KEY_PEPPER,
    port: data.CABINET_PORT,
    adminPort: data.CABINET_ADMIN_PORT,
    host: data.CABINET_HOST,
    receiptsPerMinute: data.CABINET_RECEIPTS_PER_MINUTE,
    logLevel: data.LOG_LEVEL,
  }
}
