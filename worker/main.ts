import { pino } from 'pino'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { logOptions } from '#core/process/log-options'
import { startOrExit } from '#core/process/start-or-exit'
import { readConfig } from './config.ts'
import { startWorker } from './start-worker.ts'

ignoreInspectorSignal()
const name = 'model-gateway-worker'
const { worker, log } = await startOrExit(name, async (warn) => {
  const config = readConfig(process.env, warn)
  const log = pino({ ...logOptions, name, level: config.logLevel })
  return { log, worker: await startWorker(config, log) }
})
log.info({ adminPort: worker.adminPort }, 'worker started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'worker stopping')
    await worker.stop()
    process.exit() // an unresponsive Postgres would keep it alive
  })
