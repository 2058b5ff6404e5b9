import { Counter, Histogram, type Registry } from 'prom-client'
import type { OnScript } from './redis-connection.ts'

/** Seconds of a script, up to the longest that a process waits. */
const buckets = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

/** Shows how long Redis takes, for processes that do not serve requests by it. */
export function measureScripts(registry: Registry): OnScript {
  const registers = [registry]
  const seconds = new Histogram({
    name: 'model_gateway_redis_script_duration_seconds',
    help: 'Time this process waited for one Redis script.',
    labelNames: ['script'],
    buckets,
    registers,
  })
  const errors = new Counter({
    name: 'model_gateway_redis_script_errors_total',
    help: 'Redis scripts that timed out or returned an error.',
    labelNames: ['script'],
    registers,
  })
  return ({ label: script }, end, ms) => {
    seconds.observe({ script }, ms / 1000)
    if (end === 'failed') errors.inc({ script })
  }
}
