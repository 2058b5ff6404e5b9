import { pino } from 'pino'
import { readConfig } from './config.ts'
import { startGateway } from './start-gateway.ts'

/** A line for each request is a write for each request; gathered, they cost a tenth. A kill -9 loses the last ones. */
const logBytesGathered = 8 * 1024
const logFlushMs = 200

const config = readConfig(process.env)
const lines = pino.destination({ sync: false, minLength: logBytesGathered })
setInterval(() => lines.flush(), logFlushMs).unref()
const log = pino({ name: 'model-gateway', level: config.logLevel }, lines)
const gateway = await startGateway(config, log)
log.info({ port: gateway.port, adminPort: gateway.adminPort }, 'gateway started')
lines.flush()

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, async () => {
    log.info({ signal }, 'gateway stopping')
    await gateway.stop()
  })
