import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import type { NanoRub } from '#core/ledger/money'
import { rublesSetting } from '#core/ledger/money-setting'
import { portSetting, postgresUrlSetting, readEnvironment, redisUrlSetting } from '#core/process/environment'
import type { Warn } from '#core/process/start-or-exit'

/** An address to listen on. By default, only this machine can reach it. */
const loopbackSetting = z.string().default('127.0.0.1')

/** The data folder of `npm start` and `npm run reset`. */
const dataDirSetting = z.string().default('.data')

/** Every setting of `npm start`. */
export const envSchema = z.object({
  /** Port of the gateway. 0: any free one. */
  GATEWAY_PORT: portSetting.default(8080),
  /** Port of the gateway's `/livez`, `/readyz` and `/metrics`. */
  GATEWAY_ADMIN_PORT: portSetting.default(9090),
  /** Port of the cabinet: pages, `/api/v1`, receipts, the mail catcher. */
  CABINET_PORT: portSetting.default(3000),
  /** Port of administration, for this machine only. */
  ADMINISTRATION_PORT: portSetting.default(3003),
  /** Port of the test payment provider, for this machine only. */
  TEST_PAYMENTS_PORT: portSetting.default(3002),
  /** Address of the gateway's ports. `0.0.0.0` opens them to other machines. */
  GATEWAY_HOST: loopbackSetting,
  /** The same for the cabinet. */
  CABINET_HOST: loopbackSetting,
  /** Folder of data, secrets, the log and `keys/demo`. */
  DATA_DIR: dataDirSetting,
  /** Your own Postgres, 15 or newer. Default: one is started. */
  DATABASE_URL: postgresUrlSetting.optional(),
  /** Your own Redis or Valkey, 7 or newer. Default: one is started. */
  REDIS_URL: redisUrlSetting.optional(),
  /** Balance of an organization when it is created. */
  STANDALONE_BALANCE_RUB: rublesSetting.prefault('1000'),
})

export type StandaloneConfig = {
  readonly gatewayPort: number
  readonly adminPort: number
  readonly cabinetPort: number
  readonly administrationPort: number
  readonly testPaymentsPort: number
  readonly gatewayHost: string
  readonly cabinetHost: string
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
  readonly openingBalance: NanoRub
  /** Folder of custom resources to follow. */
  readonly manifestsFolder: string | undefined
  /** `json` prints one JSON line for scripts instead of the banner. */
  readonly output: 'banner' | 'json'
}

/**
 * The data folder that `npm run reset` removes.
 * @throws BadEnvironment
 */
export function readDataDir(env: NodeJS.ProcessEnv): string {
  return resolve(readEnvironment('npm run reset', z.object({ DATA_DIR: dataDirSetting }), env).DATA_DIR)
}

/**
 * Settings of `npm start`, from the environment and the command line.
 *
 * @param warn gets a line for each old name that is set.
 * @throws Error for the user that names the invalid setting.
 */
export function readConfig(env: NodeJS.ProcessEnv, args: readonly string[], warn?: Warn): StandaloneConfig {
  const data = readEnvironment('npm start', envSchema, env, warn)
  const { values } = parseArgs({
    args: [...args],
    options: { json: { type: 'boolean' }, manifests: { type: 'string' } },
  })
  return {
    gatewayPort: data.GATEWAY_PORT,
    adminPort: data.GATEWAY_ADMIN_PORT,
    cabinetPort: data.CABINET_PORT,
    administrationPort: data.ADMINISTRATION_PORT,
    testPaymentsPort: data.TEST_PAYMENTS_PORT,
    gatewayHost: data.GATEWAY_HOST,
    cabinetHost: data.CABINET_HOST,
    dataDir: resolve(data.DATA_DIR),
    databaseUrl: data.DATABASE_URL,
    redisUrl: data.REDIS_URL,
    openingBalance: data.STANDALONE_BALANCE_RUB,
    manifestsFolder: values.manifests,
    output: values.json === true ? 'json' : 'banner',
  }
}
