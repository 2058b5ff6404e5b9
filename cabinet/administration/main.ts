import { pino } from 'pino'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { logOptions } from '#core/process/log-options'
import { startOrExit } from '#core/process/start-or-exit'
import { readConfig } from './config.ts'
import { startAdministration } from './start-administration.ts'

ignoreInspectorSignal()
const name = 'model-gateway-administration'
const { administration, log } = await startOrExit(name, async (warn) => {
  const config = readConfig(process.env, warn)
  const log = pino({ ...logOptions, name, level: config.logLevel })
  return { log, administration: await startAdministration(config, log) }
})
const { port, adminPort } = administration
log.info({ port, adminPort }, 'administration started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'administration stopping')
    await administration.stop()
  })
