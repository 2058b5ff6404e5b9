import { pino } from 'pino'
import { readConfig } from './config.ts'
import { startWorker } from './start-worker.ts'

const log = pino({ name: 'model-gateway-worker' })
const worker = await startWorker(readConfig(process.env), log)
log.info({ adminPort: worker.adminPort }, 'worker started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'worker stopping')
    await worker.stop()
  })
