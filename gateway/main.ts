import { pino } from 'pino'
import { ignoreInspectorSignal } from '#cabinet/process/inspector'
import { readConfig } from './config.ts'
import { createWriteRequestLine, openLogLines } from './http/log-lines.ts'
import { startGateway } from './start-gateway.ts'

ignoreInspectorSignal()
const config = readConfig(process.env)
const lines = openLogLines()
const log = pino({ name: 'model-gateway', level: config.logLevel }, lines)
const gateway = await startGateway(config, log, createWriteRequestLine(log, lines))
log.info({ port: gateway.port, adminPort: gateway.adminPort }, 'gateway started')
lines.flush()

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'gateway stopping')
    await gateway.stop()
  })
