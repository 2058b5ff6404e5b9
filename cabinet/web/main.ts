import { pino } from 'pino'
import { readConfig } from './config.ts'
import { startWeb } from './start-web.ts'

const log = pino({ name: 'model-gateway-cabinet' })
const web = await startWeb(readConfig(process.env), log)
log.info({ port: web.port, adminPort: web.adminPort }, 'cabinet started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'cabinet stopping')
    await web.stop()
  })
