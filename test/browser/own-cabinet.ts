import type { Pool } from 'pg'
import { afterAll } from 'vitest'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { findFreePort } from '#standalone/port'
import { type PostgresServer, startEmbeddedPostgres } from '#standalone/postgres'
import { startRedis } from '#standalone/redis'
import { aPassword, signUp, visitorOf } from '../support/cabinet.ts'
import { urlAs } from '../support/postgres.ts'
import { type Process, startProcess } from '../support/processes.ts'
import { redisLogins, redisUrlOf } from '../support/redis-logins.ts'
import { webSettings } from '../support/web-settings.ts'
import { openBrowser, signIn, type Visitor } from './visitor.ts'

/** Postgres, Redis and the web process of one test file, which may stop them and write to the database. */
export type OwnCabinet = {
  /** The address of the cabinet. */
  readonly url: string
  readonly postgres: PostgresServer
  /** As the superuser. */
  readonly pool: Pool
  /** Creates an account over HTTP, with a confirmed address. */
  signUp(): Promise<Account>
  /** A new user, signed in and on the overview. */
  openSignedIn(): Promise<Visitor & Account>
  stopWeb(): Promise<void>
  startWeb(): Promise<void>
}

type Account = { readonly email: string; readonly userId: string; readonly organizationId: string }

/** Starts the servers; they stop with the file, so call it at the top. The password of its users is `aPassword`. */
export async function ownCabinetOfThisFile(): Promise<OwnCabinet> {
  const [postgres, redis, port] = await Promise.all([
    startEmbeddedPostgres({ durability: 'fast' }),
    startRedis({ appendonly: 'no', logins: redisLogins }),
    findFreePort(),
  ])
  const url = `http://localhost:${port}`
  const pool = createPool({ databaseUrl: postgres.url, applicationName: 'test' })
  await migrate(pool)
  let web: Process | undefined
  const startWeb = async () => {
    web = await startProcess('cabinet/web/main.ts', {
      ...webSettings,
      APP_URL: url,
      CABINET_PORT: String(port),
      DATABASE_URL: urlAs('model_gateway_cabinet', postgres.url),
      REDIS_URL: redisUrlOf.cabinet(redis.url),
    })
  }
  await startWeb()
  afterAll(async () => {
    await web?.kill()
    await pool.end()
    await Promise.all([postgres, redis].map((server) => server[Symbol.asyncDispose]()))
  })
  const makeAccount = () => signUp({ pool, visitor: () => visitorOf(url) })
  return {
    url,
    postgres,
    pool,
    signUp: makeAccount,
    startWeb,
    async stopWeb() {
      await web?.stop()
    },
    async openSignedIn() {
      const account = await makeAccount()
      const visitor = await openBrowser({}, { baseURL: url })
      await signIn(visitor.page, account.email, aPassword)
      await visitor.page.locator('h1').waitFor()
      return { ...visitor, ...account }
    },
  }
}
