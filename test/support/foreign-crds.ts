import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { goProgram } from './go-program.ts'

/** Third-party kinds that the chart can create objects of, from their Go modules. */
const sources = [
  {
    module: 'sigs.k8s.io/gateway-api@v1.4.0',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.89.0',
    files: [
      'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
    ],
  },
  {
    module: 'github.com/traefik/traefik/v3@v3.5.4',
    files: ['docs/content/reference/dynamic-configuration/traefik.io_middlewares.yaml'],
  },
] as const

const downloadTimeoutMs = 300_000

/** Paths of their definitions. @throws Error when Go or its modules are not available. */
export async function findForeignCrds(): Promise<string[]> {
  const paths = sources.map(async ({ module, files }) => {
    const { stdout } = await promisify(execFile)(await goProgram(), ['mod', 'download', '-json', module], {
      timeout: downloadTimeoutMs,
    })
    const { Dir: folder } = JSON.parse(stdout) as { Dir: string }
    return files.map((file) => join(folder, file))
  })
  return (await Promise.all(paths)).flat()
}
