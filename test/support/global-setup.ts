import type { TestProject } from 'vitest/node'
import { buildPagesIfOlder } from '#cabinet/pages/build-pages'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { findRedisServer } from '#standalone/redis'
import { startClusterPool } from './cluster-pool.ts'

/** A migrated database without connections, so that it can be copied. */
const templateName = 'template_migrated'

/**
 * One Postgres for the whole run, with a migrated database to copy, and a pool of clusters; stopped and removed at its end.
 *
 * Redis is installed here, once: on a fresh machine test files that did so at the same time locked each other out. The
 * cabinet's pages are built here for the same reason.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await findRedisServer()
  await buildPagesIfOlder()
  const postgres = await startEmbeddedPostgres({ durability: 'fast' })
  const admin = createPool({ databaseUrl: postgres.url, applicationName: 'test-setup' })
  await admin.query(`create database ${templateName}`)
  await admin.end()
  const url = new URL(postgres.url)
  url.pathname = `/${templateName}`
  const pool = createPool({ databaseUrl: url.href, applicationName: 'test-setup' })
  await migrate(pool)
  await pool.end()
  project.provide('postgresUrl', postgres.url)
  project.provide('postgresTemplate', templateName)
  const clusters = await startClusterPool()
  project.provide('clusterPoolPort', clusters.port)
  return async () => {
    await clusters.stop()
    await postgres[Symbol.asyncDispose]()
  }
}
