import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createKey } from '#core/keys/key-store'
import { createCustomer, pepper } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile, webOfThisFile } from '../support/web.ts'
import { appUrl } from '../support/web-settings.ts'
import { wholeCabinetOfThisFile } from '../support/whole-cabinet.ts'

const database = await databaseOfThisFile()
const { pool } = database
const web = await webOfThisFile(database)
const administration = await administrationOfThisFile(database)
const whole = wholeCabinetOfThisFile(database)

type Sent = {
  readonly status: number | undefined
  readonly encoding: string | undefined
  readonly vary: string | undefined
  readonly body: Buffer
}

/** The bytes as they were sent: `fetch` would decompress them. */
function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: object; body?: string },
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { ...headers } }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      const { statusCode: status, headers: got } = response
      resolve({ status, encoding: got['content-encoding'], vary: got.vary, body: Buffer.concat(chunks) })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

const asBrowser = { 'accept-encoding': 'gzip, deflate, br, zstd' }

/** An owner of ten keys, so that their list is longer than 1 KiB. */
async function createReader() {
  const { organizationId } = await createCustomer(pool, { balanceNano: 1_000_000_000n })
  const { cookie } = await signedIn(pool, { organizationId })
  await inTestScope(pool, async (client) => {
    for (let made = 0; made < 10; made++)
      await createKey(client, { organizationId, name: `key ${made}`, managedBy: 'cabinet' }, pepper)
  })
  return { cookie, organizationId }
}

test('long JSON is as small as its reader can read it, of the cabinet and of administration', async () => {
  const { cookie } = await createReader()
  for (let others = 0; others < 8; others++) await createCustomer(pool, { balanceNano: 1n })
  const administrator = await signedInAdministrator(pool)
  for (const [url, session] of [
    [`${web.url}/api/v1/keys`, cookie],
    [`${administration.url}/api/v1/admin/organizations`, administrator.cookie],
  ] as const) {
    const plain = await ask(url, { headers: { cookie: session } })
    const small = await ask(url, { headers: { cookie: session, ...asBrowser } })
    const zipped = await ask(url, { headers: { cookie: session, 'accept-encoding': 'gzip' } })
    expect([plain.status, plain.encoding, small.encoding, zipped.encoding]).toEqual([
      200,
      undefined,
      'br',
      'gzip',
    ])
    expect(brotliDecompressSync(small.body).equals(plain.body)).toBe(true)
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true)
    expect(small.vary).toContain('accept-encoding')
    expect(small.body.length).toBeLessThan(plain.body.length / 2)
  }
})

test('a compressed request is not unpacked, however small it is', async () => {
  const { cookie } = await createReader()
  const headers = {
    cookie,
    origin: appUrl,
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'idempotency-key': randomUUID(),
  }
  const { status } = await ask(`${web.url}/api/v1/keys`, { method: 'POST', headers, body: 'H4sIAAAA' })
  expect(status).toBe(400)
})

test('a response with a secret has the same length whatever is next to the secret', async () => {
  const { cookie } = await createReader()
  const allowed_models = Array.from({ length: 40 }, (_, at) => `a/long/name-${at}`)
  const ofName = (name: string) =>
    ask(`${web.url}/api/v1/keys`, {
      method: 'POST',
      headers: {
        ...asBrowser,
        cookie,
        origin: appUrl,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ name, allowed_models }),
    })
  const guess = 'sk-gateway-sk-gateway'
  const [guessed, other] = await Promise.all([ofName(guess), ofName(guess.replaceAll('-', 'x'))])
  expect([guessed.status, guessed.encoding]).toEqual([202, undefined])
  expect(guessed.body.length).toBe(other.body.length)
  expect(guessed.body.length).toBeGreaterThan(1_024)
})

test('no response that is only read contains a secret, so none with a secret is compressed', () => {
  const contracts = [...whole.contracts, ...whole.administration.contracts]
  const secrets = /"(?:secret|recovery_codes|otpauth_uri|token)":/
  const showing = contracts.filter(({ answers }) =>
    Object.values(answers).some(
      (shape) =>
        shape instanceof z.ZodType &&
        secrets.test(JSON.stringify(z.toJSONSchema(shape, { unrepresentable: 'any', io: 'input' }))),
    ),
  )
  expect(showing.length).toBeGreaterThan(6)
  expect(showing.filter(({ method }) => method === 'GET')).toEqual([])
})

test('a stream of events and a file are sent as they are written', async () => {
  const { cookie } = await createReader()
  const leaving = new AbortController()
  const headers = { cookie, ...asBrowser }
  const events = await fetch(`${web.url}/api/v1/events`, { headers, signal: leaving.signal })
  expect([events.status, events.headers.get('content-encoding')]).toEqual([200, null])
  leaving.abort()
  const file = await ask(`${web.url}/api/v1/ledger.csv`, { headers })
  expect([file.status, file.encoding]).toEqual([200, undefined])
})
