import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
)

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
