import { pino } from 'pino'
import { ignoreInspectorSignal } from '../process/inspector.ts'
import { logOptions } from '../process/log-options.ts'
import { readConfig } from './config.ts'
import { startWorker } from './start-worker.ts'

ignoreInspectorSignal()
const config = readConfig(process.env)
const log = pino({ ...logOptions, name: 'model-gateway-worker', level: config.logLevel })
const worker = await startWorker(config, log)
log.info({ adminPort: worker.adminPort }, 'worker started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'worker stopping')
    await worker.stop()
  })
