import { pino } from 'pino'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { logOptions } from '#core/process/log-options'
import { startOrExit } from '#core/process/start-or-exit'
import { readConfig } from './config.ts'
import { startWeb } from './start-web.ts'

ignoreInspectorSignal()
const name = 'model-gateway-cabinet'
const { web, log } = await startOrExit(name, async (warn) => {
  const config = readConfig(process.env, warn)
  const log = pino({ ...logOptions, name, level: config.logLevel })
  return { log, web: await startWeb(config, log) }
})
log.info({ port: web.port, adminPort: web.adminPort }, 'cabinet started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'cabinet stopping')
    await web.stop()
  })
