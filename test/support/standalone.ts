import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { inheritedEnvironment } from './environment.ts'
import { descendantsOf } from './process-tree.ts'

const readyLine = z.looseObject({
  baseUrl: z.url(),
  apiKey: z.string(),
  adminUrl: z.url(),
  cabinetUrl: z.url(),
  administrationUrl: z.url(),
  mailCatcherUrl: z.url(),
  testPaymentsUrl: z.url(),
  organization: z.string(),
  cabinet: z
    .object({
      user: z.string(),
      password: z.string().nullable(),
      admin: z.string(),
      adminPassword: z.string().nullable(),
      adminTotp: z.string().nullable(),
    })
    .nullable(),
})

/** `npm start` as users run it: a process, its one JSON line, and its output. */
export type Standalone = z.infer<typeof readyLine> & {
  readonly pid: number
  readonly readyMs: number
  /** Its output so far, on stderr. */
  said(): string
  /** SIGINT, as Ctrl-C; answers the exit code. */
  stop(): Promise<number | null>
  kill(): void
}

/** Starts one of standalone's entry files on separate ports. */
export function launch(
  entry: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): ChildProcess & { readonly stdout: NodeJS.ReadableStream; readonly stderr: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, [entry, ...args], {
    env: {
      ...inheritedEnvironment,
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      CABINET_PORT: '0',
      ADMINISTRATION_PORT: '0',
      TEST_PAYMENTS_PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  process.once('exit', () => child.kill('SIGKILL')) // whatever ends this test run ends it
  return child
}

/** Resolves once the system reports that it is ready. @throws Error with its output when it ends before */
export async function startStandalone(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<Standalone> {
  const startedAtMs = performance.now()
  const child = launch('standalone/main.ts', env, ['--json', ...args])
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += String(chunk)
  })
  const exited = once(child, 'exit')
  const line = await Promise.race([
    once(child.stdout, 'data').then(([chunk]) => String(chunk)),
    exited.then(() => {
      throw new Error(said)
    }),
  ])
  return {
    ...readyLine.parse(JSON.parse(line)),
    pid: child.pid ?? 0,
    readyMs: performance.now() - startedAtMs,
    said: () => said,
    async stop() {
      child.kill('SIGINT')
      const [code] = await exited
      return code
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

/** Of the Postgres that it has started, with the permissions of its superuser. */
export function databaseUrlOf({ pid }: Standalone): string {
  const postgres = descendantsOf(pid).map(({ command }) =>
    /\/postgres -D (\S+)\/cluster -p (\d+)/.exec(command),
  )
  const [, folder = '', port = ''] = postgres.find((found) => found !== null) ?? []
  const password = readFileSync(`${folder}/password`, 'utf8').trim()
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}
