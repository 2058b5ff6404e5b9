import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { legalDay } from '#cabinet/legal/legal-version'
import { startTill } from '#standalone/yookassa/start-till'
import { makePayer, type Payer } from '../support/payer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { shopSettingsOf, testShop } from '../support/till.ts'
import { administrationOfThisFile, webOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const till = await startTill(testShop)
afterAll(() => till.stop())
const cabinet = await webOfThisFile(database, shopSettingsOf(till))
const administration = await administrationOfThisFile(database)
afterEach(() => vi.useRealTimers())

const dayMs = 24 * 60 * 60 * 1_000
const dayIn = (days: number) => legalDay(new Date(Date.now() + days * dayMs))
const english = { 'accept-language': 'en' }

const draftOf = (kind: 'offer' | 'personal_data', version: string) => ({
  kind,
  version,
  texts: { ru: `Текст ${randomUUID()}`, en: `Text ${randomUUID()}` },
  reason: 'A new price for cached input',
})

async function publish(draft: object) {
  const { cookie, administratorId } = await signedInAdministrator(pool)
  const published = await administration.call('POST', '/admin/legal/documents', {
    cookie,
    body: draft,
    headers: english,
  })
  return { ...published, administratorId }
}

async function offersWithState() {
  const { body } = await cabinet.call('GET', '/legal/documents')
  return body.data.flatMap(({ kind, locale, version, state }: Readonly<Record<string, string>>) =>
    kind === 'offer' && locale === 'en' ? [`${version} ${state}`] : [],
  )
}

/** What the cabinet asks of a payer now. */
async function askedOf({ cookie }: Pick<Payer, 'cookie'>) {
  const { body } = await cabinet.call('GET', '/me', { cookie })
  const headers = { 'idempotency-key': randomUUID() }
  const paid = await cabinet.call('POST', '/payments', { cookie, headers, body: { amount_rub: '100' } })
  return { outdated: body.outdated_consents, payment: paid.body.code ?? paid.status }
}

test('a new offer is asked for from its day on, and not before', async () => {
  const payer = await makePayer(pool)
  const [inForce] = await offersWithState()
  const [version, outdated] = [dayIn(1), String(inForce).split(' ')[0]]
  expect((await publish(draftOf('offer', version))).status).toBe(201)
  expect(await offersWithState()).toEqual([`${version} upcoming`, inForce])
  expect(await askedOf(payer)).toEqual({ outdated: ['personal_data'], payment: 201 })

  vi.useFakeTimers({ now: Date.now() + dayMs, toFake: ['Date'] })
  expect(await offersWithState()).toEqual([`${version} in_force`, `${outdated} outdated`])
  expect(await askedOf(payer)).toEqual({
    outdated: ['offer', 'personal_data'],
    payment: 'consent_outdated',
  })
  await vi.waitFor(async () => {
    const { documents } = (await cabinet.call('GET', '/config')).body
    expect(documents[0]).toEqual({ kind: 'offer', version })
  })
  const accepted = await cabinet.call('POST', '/me/consents', {
    cookie: payer.cookie,
    body: { kind: 'offer', version },
  })
  expect(accepted.body).toMatchObject({ kind: 'offer', version, withdrawn: false })
  expect(await askedOf(payer)).toEqual({ outdated: ['personal_data'], payment: 201 })
})

test('the text that a user agreed to stays readable by its hash, whatever is published later', async () => {
  vi.useFakeTimers({ now: Date.now() + 10 * dayMs, toFake: ['Date'] })
  const [old, next] = [draftOf('personal_data', dayIn(0)), draftOf('personal_data', dayIn(1))]
  const { sha256 } = (await publish(old)).body
  await publish(next)
  for (const locale of ['ru', 'en'] as const) {
    const { body } = await cabinet.call('GET', `/legal/texts/${sha256[locale]}`)
    expect(body).toMatchObject({ kind: 'personal_data', version: old.version, text: old.texts[locale] })
    const { body: same } = await cabinet.call('GET', body.url.replace('/api/v1', ''))
    expect(same).toEqual(body)
  }
  expect((await cabinet.call('GET', `/legal/texts/${'0'.repeat(64)}`)).status).toBe(404)
  // What Postgres cannot read is refused before it is asked.
  for (const path of ['texts/%00', 'documents/offer/%00/ru'])
    expect((await cabinet.call('GET', `/legal/${path}`)).status).toBe(422)
})

test('a version is published once, by whom and why is known, and it cannot be changed', async () => {
  vi.useFakeTimers({ now: Date.now() + 20 * dayMs, toFake: ['Date'] })
  const draft = draftOf('offer', dayIn(0))
  const published = await publish(draft)
  expect(published.status).toBe(201)
  const { rows } = await pool.query(
    `select actor_id, subject_kind, reason, after from audit_log where subject_id = $1`,
    [`offer ${draft.version}`],
  )
  expect(rows).toEqual([
    {
      actor_id: published.administratorId,
      subject_kind: 'LegalDocument',
      reason: draft.reason,
      after: { sha256: published.body.sha256 },
    },
  ])
  for (const change of [
    "update legal_texts set text = ''",
    'delete from legal_texts',
    'truncate legal_texts',
  ])
    await expect(pool.query(change)).rejects.toThrow()
})

test('a version in the past, or not later than the newest, is refused at its field', async () => {
  vi.useFakeTimers({ now: Date.now() + 30 * dayMs, toFake: ['Date'] })
  await publish(draftOf('offer', dayIn(2)))
  const errorsOf = async (version: string) => {
    const { status, body } = await publish(draftOf('offer', version))
    return [status, ...body.errors.map(({ path, message }: Record<string, string>) => `${path} ${message}`)]
  }
  expect(await errorsOf(dayIn(-1))).toEqual([422, `version must be ${dayIn(0)} or later`])
  for (const version of [dayIn(1), dayIn(2)])
    expect(await errorsOf(version)).toEqual([
      422,
      `version must be later than the newest version, ${dayIn(2)}`,
    ])
  expect((await errorsOf('2026-02-30'))[0]).toBe(422)
  expect((await publish({ ...draftOf('offer', dayIn(3)), texts: { ru: 'Только' } })).status).toBe(422)
})

test('of two that publish the same version at once, one does', async () => {
  vi.useFakeTimers({ now: Date.now() + 40 * dayMs, toFake: ['Date'] })
  const drafts = [draftOf('offer', dayIn(0)), draftOf('offer', dayIn(0))]
  const answers = await Promise.all(drafts.map(publish))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422])
})

test('the longest texts are accepted, and longer ones are refused at their field', async () => {
  vi.useFakeTimers({ now: Date.now() + 50 * dayMs, toFake: ['Date'] })
  const long = { ru: 'Ы'.repeat(100_000), en: '"'.repeat(100_000) }
  expect((await publish({ ...draftOf('offer', dayIn(0)), texts: long })).status).toBe(201)
  const { body } = await publish({
    ...draftOf('offer', dayIn(1)),
    texts: { ...long, en: 'x'.repeat(100_001) },
  })
  expect(body.errors).toMatchObject([{ path: 'texts.en' }])
})

test('the register lists every consent with its document, address and time, page by page and as CSV', async () => {
  const { cookie } = await signedInAdministrator(pool)
  const payers = [await makePayer(pool), await makePayer(pool), await makePayer(pool)]
  const read = (query: string) => administration.call('GET', `/admin/consents${query}`, { cookie })
  const first = await read('?limit=2')
  const rest = await read(`?limit=2&cursor=${first.body.next_cursor}`)
  const users = [...first.body.data, ...rest.body.data].map(({ user_id }) => user_id)
  expect(users.slice(0, 3)).toEqual(payers.map(({ userId }) => userId).toReversed())
  const [payer] = payers
  const { body: ofOne } = await read(`?user_id=${payer?.userId}&kind=offer`)
  const shown = { email: `${payer?.userId}@example.com`, kind: 'offer', locale: 'en', address: '127.0.0.1' }
  expect(ofOne.data).toEqual([expect.objectContaining(shown)])
  const csv = await fetch(`${administration.url}/api/v1/admin/consents.csv?user_id=${payer?.userId}`, {
    headers: { cookie },
  })
  const [head, line, end] = (await csv.text()).split('\r\n')
  expect(head).toContain('id,at,user_id,email,kind,version,locale,sha256,withdrawn,address,agent')
  expect(line).toContain(`${payer?.userId},${shown.email},offer,${ofOne.data[0].version},en,`)
  expect(end).toBe('')
})
