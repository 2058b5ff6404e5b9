import { inspect } from 'node:util'
import { afterAll } from 'vitest'
import { readConfig as readAdministrationConfig } from '#cabinet/administration/config'
import { startAdministration } from '#cabinet/administration/start-administration'
import { readConfig } from '#cabinet/web/config'
import { startWeb } from '#cabinet/web/start-web'
import { type TestDatabase, urlAs } from './postgres.ts'
import { administrationSettings, administrationUrl, appUrl, webSettings } from './web-settings.ts'

export type TestWeb = {
  readonly url: string
  readonly adminUrl: string
  /** Calls an endpoint of `/api/v1`; `body` as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<CallAnswer>
}

export type CallOptions = {
  readonly body?: unknown
  /** As our own pages send it. */
  readonly cookie?: string
  readonly headers?: Readonly<Record<string, string>>
}

type CallAnswer = {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
  readonly body: any
}

/** The cabinet's web process, which ends with this file. */
export async function webOfThisFile(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<TestWeb> {
  const web = await startTestWeb(database, env)
  afterAll(() => web[Symbol.asyncDispose]())
  return web
}

/** The cabinet's web process in this one, with the permissions of its role. */
export async function startTestWeb(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<TestWeb & AsyncDisposable> {
  const config = readConfig({
    ...webSettings,
    DATABASE_URL: urlAs('model_gateway_cabinet', database.url),
    ...env,
  })
  return callable(await startWeb(config, log), appUrl)
}

/** The administration process in this one, with the permissions of its role; it ends with this file. */
export async function administrationOfThisFile(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<TestWeb> {
  const config = readAdministrationConfig({
    ...administrationSettings,
    DATABASE_URL: urlAs('model_gateway_administration', database.url),
    ...env,
  })
  const administration = callable(await startAdministration(config, log), administrationUrl)
  afterAll(() => administration[Symbol.asyncDispose]())
  return administration
}

const quiet = () => undefined
const log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: (facts: object) => void process.stderr.write(`${inspect(facts)}\n`),
}

function callable(
  served: { readonly port: number; readonly adminPort: number; stop(): Promise<void> },
  ownUrl: string,
): TestWeb & AsyncDisposable {
  const url = `http://127.0.0.1:${served.port}`
  return {
    url,
    adminUrl: `http://127.0.0.1:${served.adminPort}`,
    [Symbol.asyncDispose]: () => served.stop(),
    async call(method, path, { body, cookie, headers = {} } = {}) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(cookie === undefined ? {} : { cookie, origin: ownUrl }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') === true
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
    },
  }
}
