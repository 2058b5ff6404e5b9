import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { version } from './version.ts'

/**
 * A registry with the metrics of every process: Node's own, the lag of its event loop among them, and its
 * version.
 */
export function createProcessRegistry(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const build = new Gauge({
    name: 'model_gateway_build_info',
    help: 'Always 1: which version runs, and on which Node.js.',
    labelNames: ['version', 'node'],
    registers: [registry],
  })
  build.set({ version, node: process.version }, 1)
  return registry
}
