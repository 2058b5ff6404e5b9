import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { listeningPort } from '#core/process/listening-port'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { secrets } from '../support/processes.ts'

const entries: readonly (readonly [entry: string, ...args: string[]])[] = [
  ['gateway/main.ts'],
  ['operator/main.ts'],
  ['cabinet/web/main.ts'],
  ['worker/main.ts'],
  ['core/db/main.ts'],
  ['worker/invariants/main.ts'],
  ['worker/lanes/main.ts', 'acme'],
  ['core/organizations/main.ts', 'acme', '1'],
  ['cabinet/administration/main.ts'],
  ['cabinet/administrators/main.ts', 'admin@example.com'],
  ['standalone/main.ts'],
]

/** Postgres, Redis and Kubernetes at once: accepts connections and never responds, so that clients keep waiting. */
async function startSilence() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {}))).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: listeningPort(server), asked: once(server, 'connection') }
}

test.each(entries)('SIGUSR1 opens no inspector of %s', async (...command) => {
  const folder = folderOfThisTest('inspector')
  const silence = await startSilence()
  const kubeconfig = join(folder, 'kubeconfig')
  const cluster = { name: 'c', cluster: { server: `https://127.0.0.1:${silence.port}` } }
  const context = { name: 'c', context: { cluster: 'c', user: 'u' } }
  const users = [{ name: 'u', user: { token: 't' } }]
  writeFileSync(
    kubeconfig,
    JSON.stringify({ clusters: [cluster], contexts: [context], users, 'current-context': 'c' }),
  )
  const ports = [
    'GATEWAY_PORT',
    'GATEWAY_ADMIN_PORT',
    'CABINET_PORT',
    'CABINET_ADMIN_PORT',
    'ADMINISTRATION_PORT',
    'ADMINISTRATION_ADMIN_PORT',
    'TEST_PAYMENTS_PORT',
    'WORKER_ADMIN_PORT',
    'OPERATOR_PROBES_PORT',
    'OPERATOR_METRICS_PORT',
  ]
  const child = spawn(process.execPath, ['--inspect-port=0', ...command], {
    env: {
      ...inheritedEnvironment,
      ...secrets,
      ...Object.fromEntries(ports.map((name) => [name, '0'])),
      DATABASE_URL: `postgres://u:p@127.0.0.1:${silence.port}/d`,
      REDIS_URL: `redis://127.0.0.1:${silence.port}`,
      APP_URL: 'http://localhost:3000',
      ADMINISTRATION_URL: 'http://localhost:3003',
      KUBECONFIG: kubeconfig,
      OPERATOR_NAMESPACE: 'n',
      GATEWAY_BASE_URL: 'http://gateway.example/v1',
      DATA_DIR: join(folder, 'data'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  const said = new Promise<string>((resolve) => {
    createInterface(child.stderr).on('line', (line) => {
      lines.push(line)
      if (/inspector|Debugger listening/.test(line)) resolve(line)
    })
  })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`ended with ${code}: ${lines.join('\n')}`)
  })
  await Promise.race([silence.asked, ended])
  child.kill('SIGUSR1')
  expect(await Promise.race([said, ended])).toMatch(/^SIGUSR1 is ignored/)
  expect(child.exitCode).toBeNull()
})
