import { pino } from 'pino'
import { ignoreInspectorSignal } from '../process/inspector.ts'
import { readConfig } from './config.ts'
import { startWebhook } from './start-webhook.ts'

ignoreInspectorSignal()
const config = readConfig(process.env)
const log = pino({ name: 'model-gateway-webhook', level: config.logLevel })
const webhook = await startWebhook(config, log)
log.info({ port: webhook.port, adminPort: webhook.adminPort }, 'webhook receiver started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'webhook receiver stopping')
    await webhook.stop()
  })
