import { randomBytes } from 'node:crypto'
import { Client, type Pool } from 'pg'
import { afterAll, inject } from 'vitest'
import { createPool } from '#core/db/pool'

/** What global-setup.ts gives to every test file. */
declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster of this run, as its superuser. */
    postgresUrl: string
    /** Name of a migrated database to copy. */
    postgresTemplate: string
  }
}

export type TestDatabase = {
  readonly url: string
  /** As the superuser who owns everything; `bigint` comes as BigInt. */
  readonly pool: Pool
  [Symbol.asyncDispose](): Promise<void>
}

/** A separate database: a copy of the migrated template, or of `template` (`template0`: empty). */
export async function createDatabase(
  options: { readonly template?: string; readonly clusterUrl?: string } = {},
): Promise<TestDatabase> {
  const clusterUrl = options.clusterUrl ?? inject('postgresUrl')
  const template = options.template ?? inject('postgresTemplate')
  const name = `test_${randomBytes(6).toString('hex')}`
  await runInCluster(clusterUrl, `create database ${name} template ${template}`)
  const url = new URL(clusterUrl)
  url.pathname = `/${name}`
  const pool = createPool({ databaseUrl: url.href, applicationName: 'test', connectionCountMax: 20 })
  return {
    url: url.href,
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await runInCluster(clusterUrl, `drop database ${name} with (force)`)
    },
  }
}

/** A migrated database of this test file only, removed with it. */
export async function databaseOfThisFile(): Promise<TestDatabase> {
  const database = await createDatabase()
  afterAll(() => database[Symbol.asyncDispose]())
  return database
}

/** The same database, with no more permissions than a role has. */
export function urlAs(role: string, databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.searchParams.set('options', `-c role=${role}`)
  return url.href
}

/** A pool with no more permissions than a role has; it ends with the file. */
export function poolAs(role: string, { url }: TestDatabase): Pool {
  const pool = createPool({ databaseUrl: urlAs(role, url), applicationName: role, connectionCountMax: 2 })
  afterAll(() => pool.end())
  return pool
}

async function runInCluster(clusterUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: clusterUrl })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}
