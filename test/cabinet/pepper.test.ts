import { expect, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '#cabinet/web/config'
import { startWeb } from '#cabinet/web/start-web'
import { createPool } from '#core/db/pool'
import { requirePepper } from '#core/keys/database-pepper'
import { PepperMismatch } from '#core/keys/pepper'
import { pepper } from '../support/customer.ts'
import { createDatabase, databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { webSettings } from '../support/web-settings.ts'

const { pool, url } = await databaseOfThisFile()
const other = 'another pepper, 32 characters long'
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

test('of twenty processes that are the first to have a pepper, those that have the same one go on', async () => {
  await using database = await createDatabase()
  const asked = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? pepper : other))
  const answers = await Promise.allSettled(asked.map((each) => requirePepper(database.pool, each)))
  const accepted = new Set(asked.filter((_, n) => answers[n]?.status === 'fulfilled'))
  const refused = answers.filter((answer) => answer.status === 'rejected')
  expect(accepted.size).toBe(1)
  expect(refused).toHaveLength(10)
  for (const { reason } of refused) expect(reason).toBeInstanceOf(PepperMismatch)
})

test('the first pepper of a database is permanent, and no process can read or change its check value', async () => {
  await requirePepper(pool, pepper)
  await expect(requirePepper(pool, other)).rejects.toThrow(PepperMismatch)
  await expect(pool.query("update key_pepper set check_value = 'x'")).rejects.toThrow('not allowed')
  for (const role of ['model_gateway_cabinet', 'model_gateway_operator']) {
    const limited = createPool({ databaseUrl: urlAs(role, url), applicationName: role })
    try {
      await requirePepper(limited, pepper)
      await expect(limited.query('select from key_pepper')).rejects.toMatchObject({ code: '42501' })
    } finally {
      await limited.end()
    }
  }
})

test('the cabinet does not start with another pepper, and logs one sentence without it', async () => {
  await requirePepper(pool, pepper)
  const start = (KEY_PEPPER: string) =>
    startWeb(
      readConfig({ ...webSettings, DATABASE_URL: urlAs('model_gateway_cabinet', url), KEY_PEPPER }),
      quiet,
    )
  await expect(start(other)).rejects.toThrow(
    'KEY_PEPPER is not the one that the API keys of this database were made with: none of them would work. ' +
      'The pepper cannot be changed. Set KEY_PEPPER to the value that they were made with.',
  )
  await (await start(pepper)).stop()
})

test('a cabinet with another pepper that started before Postgres never becomes ready, and gives the reason', async () => {
  await requirePepper(pool, pepper)
  const gate = await gateOfThisTest(Number(new URL(url).port))
  gate.shut()
  const behindGate = Object.assign(new URL(url), { host: `127.0.0.1:${gate.port}` }).href
  const web = await startWeb(
    readConfig({
      ...webSettings,
      DATABASE_URL: urlAs('model_gateway_cabinet', behindGate),
      KEY_PEPPER: other,
    }),
    quiet,
  )
  onTestFinished(() => web.stop())
  const readiness = async () => (await fetch(`http://127.0.0.1:${web.adminPort}/readyz`)).text()
  await vi.waitFor(async () =>
    expect(await readiness()).toMatch(/^Postgres has not returned its list of migrations yet: ./),
  )
  gate.open()
  await vi.waitFor(async () => expect(await readiness()).toMatch(/^KEY_PEPPER is not the one/), {
    timeout: 10_000,
  })
})
