import { pino } from 'pino'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { startOrExit } from '#core/process/start-or-exit'
import { readConfig } from './config.ts'
import { startOperator } from './start-operator.ts'

ignoreInspectorSignal()
const name = 'model-gateway-operator'
const { operator, log } = await startOrExit(name, async (warn) => {
  const config = readConfig(process.env, warn)
  const log = pino({ name, level: config.logLevel })
  return { log, operator: await startOperator(config, log, (code) => process.exit(code)) }
})
log.info({ port: operator.metricsPort, adminPort: operator.probesPort }, 'operator started')

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'operator stopping')
    await operator.stop()
    process.exit() // an unresponsive Postgres or API server would keep it alive
  })
