import { pino } from 'pino'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { startOrExit } from '#core/process/start-or-exit'
import { readConfig } from './config.ts'
import { createWriteRequestLine, openLogLines } from './http/log-lines.ts'
import { startGateway } from './start-gateway.ts'

ignoreInspectorSignal()
const name = 'model-gateway'
const { gateway, log, lines } = await startOrExit(name, async (warn) => {
  const config = readConfig(process.env, warn)
  const lines = openLogLines()
  const log = pino({ name, level: config.logLevel }, lines)
  return { log, lines, gateway: await startGateway(config, log, createWriteRequestLine(log, lines)) }
})
log.info({ port: gateway.port, adminPort: gateway.adminPort }, 'gateway started')
lines.flush()

// Heard for good: a second signal must not end the process in the middle of its answers. SIGKILL does.
let isStopping = false
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, async () => {
    if (isStopping) return log.warn({ signal }, 'already stopping: answers in progress are being finished')
    isStopping = true
    log.info({ signal }, 'gateway stopping')
    await gateway.stop()
  })
