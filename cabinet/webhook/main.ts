import { pino } from 'pino'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { startOrExit } from '#core/process/start-or-exit'
import { readConfig } from './config.ts'
import { startWebhook } from './start-webhook.ts'

ignoreInspectorSignal()
const name = 'model-gateway-webhook'
const { webhook, log } = await startOrExit(name, async (warn) => {
  const config = readConfig(process.env, warn)
  const log = pino({ name, level: config.logLevel })
  return { log, webhook: await startWebhook(config, log) }
})
log.info({ port: webhook.port, adminPort: webhook.adminPort }, 'webhook receiver started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'webhook receiver stopping')
    await webhook.stop()
  })
