import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { findProvider, readCatalog } from '#core/catalog/catalog-store'
import { openCredential } from '#core/catalog/credential-seal'
import { databaseOfThisFile } from '../support/postgres.ts'
import { secrets } from '../support/processes.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const administration = await administrationOfThisFile(database)
const { cookie, administratorId } = await signedInAdministrator(pool)
const reason = 'A new contract with the provider'

const aName = () => randomBytes(6).toString('hex')
const modelPath = (model: string) => `/admin/models/${encodeURIComponent(model)}`

function call(method: string, path: string, body?: unknown, ifMatch?: string | null) {
  const headers = { 'accept-language': 'en', ...(ifMatch ? { 'if-match': ifMatch } : {}) }
  return administration.call(method, path, { cookie, headers, ...(body === undefined ? {} : { body }) })
}

const etagOf = async (path: string) => (await call('GET', path)).headers.get('etag')

const providerSpec = (spec: object = {}) => ({
  api: 'OpenAI',
  baseURL: 'https://llm.example/v1',
  auth: { type: 'Bearer' },
  ...spec,
})

async function newProvider(fields: object = {}) {
  const name = `p-${aName()}`
  const made = await call('POST', '/admin/providers', {
    name,
    spec: providerSpec(),
    credential: 'sk-secret',
    reason,
    ...fields,
  })
  expect([made.status, made.body]).toEqual([201, expect.anything()])
  return name
}

const prices = (input: string, output = '30') => ({ pricingRubPerMillionTokens: { input, output } })

function routeSpec(provider: string, fields: object = {}) {
  return {
    model: `shop/${aName()}`,
    backends: [{ name: 'main', providerRef: { name: provider }, model: 'm' }],
    ...prices('15.5'),
    ...fields,
  }
}

async function newModel(fields: object = {}, provider?: string) {
  const spec = routeSpec(provider ?? (await newProvider()), fields)
  const made = await call('POST', '/admin/models', { spec, reason })
  expect([made.status, made.body]).toEqual([201, expect.anything()])
  return { spec, model: spec.model, path: modelPath(spec.model), etag: made.headers.get('etag') }
}

async function auditOf(subject: string) {
  const { rows } = await pool.query(
    'select action, actor_id, reason, before, after from audit_log where subject_id = $1 order by id',
    [subject],
  )
  return rows
}

const errorsOf = ({ body }: Awaited<ReturnType<typeof call>>) =>
  body.errors?.map(({ path, message }: { path: string; message: string }) => [path, message])

const inForce = async (model: string) =>
  (await readCatalog(pool)).routes.find((route) => route.model === model)?.price?.input

describe('a model', () => {
  test('is made with the spec of a ModelRoute, and gateways get it with its price', async () => {
    const { spec, model, path } = await newModel()
    expect(await inForce(model)).toBe('15500')
    expect((await call('GET', path)).body.spec).toMatchObject({
      ...spec,
      ...prices('15.500', '30.000'),
      type: 'chat',
    })
    const audit = await auditOf(model)
    expect(audit.map(({ action }) => action)).toEqual(['price.put', 'route.put'])
    expect(audit[1]).toMatchObject({ actor_id: administratorId, reason, before: null })
  })

  test('that was read and written unchanged is the same, and nothing is audited', async () => {
    const { model, path, etag } = await newModel()
    const { spec } = (await call('GET', path)).body
    const before = await auditOf(model)
    const again = await call('PATCH', path, { spec, reason }, etag)
    expect([again.status, again.headers.get('etag')]).toEqual([200, etag])
    expect(await auditOf(model)).toEqual(before)
  })

  test('is changed by the first of two administrators who read the same version; the other one gets 412', async () => {
    const { spec, model, path, etag } = await newModel()
    const change = (displayName: string) =>
      call('PATCH', path, { spec: { ...spec, displayName }, reason }, etag)
    const answers = await Promise.all([change('One'), change('Two')])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
    const kept = answers.find(({ status }) => status === 200)?.body.display_name
    expect((await call('GET', path)).body.display_name).toBe(kept)
    expect((await auditOf(model)).map(({ action }) => action)).toEqual([
      'price.put',
      'route.put',
      'route.put',
    ])
    expect((await call('PATCH', path, { spec, reason })).status).toBe(428)
  })

  test('of a cluster is read-only, and the response names the object', async () => {
    const { spec, model, path, etag } = await newModel()
    await pool.query(
      `insert into cluster_resources (cluster_id, kind, namespace, name, uid, generation, subject, revision)
       values ('c1', 'ModelRoute', 'team', $1, 'u', 1, $2, 1)`,
      [aName(), model],
    )
    for (const refused of [
      await call('PATCH', path, { spec, reason }, etag),
      await call('POST', `${path}/prices`, { spec: prices('9'), reason }, etag),
      await call('POST', `${path}/prices/${randomUUID()}/cancel`, { reason }),
    ])
      expect([refused.status, refused.body]).toEqual([
        409,
        expect.objectContaining({ code: 'managed_by_cluster', cluster: 'c1', namespace: 'team' }),
      ])
    expect(await inForce(model)).toBe('15500')
  })

  test('needs a recent code of the administrator', async () => {
    const old = await signedInAdministrator(pool, { mfaAt: new Date(Date.now() - 400_000) })
    const spec = routeSpec(await newProvider())
    const { body } = await administration.call('POST', '/admin/models', {
      cookie: old.cookie,
      body: { spec, reason },
    })
    expect(body.code).toBe('mfa_step_up_required')
  })

  const refused: readonly [string, (spec: ReturnType<typeof routeSpec>) => object, string, string][] = [
    [
      'a price with four decimals',
      () => prices('1.2345'),
      'spec.pricingRubPerMillionTokens.input',
      'must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
    ],
    [
      'a negative price',
      () => prices('-1'),
      'spec.pricingRubPerMillionTokens.input',
      'must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
    ],
    [
      'a price of zero for everything',
      () => prices('0', '0'),
      'spec.pricingRubPerMillionTokens',
      'must not be 0 for everything: set free to true instead',
    ],
    [
      'no price',
      () => ({ pricingRubPerMillionTokens: undefined }),
      'spec',
      'must have a price: set pricingRubPerMillionTokens, or set free to true',
    ],
    [
      'a missing provider',
      () => ({ backends: [{ name: 'main', providerRef: { name: 'none' }, model: 'm' }] }),
      'spec.backends.0.providerRef.name',
      'there is no provider none',
    ],
    [
      'a missing fallback',
      () => ({ fallbacks: ['shop/none'] }),
      'spec.fallbacks.0',
      'there is no model shop/none',
    ],
    [
      'a missing organization',
      () => ({ access: { scope: 'Organizations', organizations: ['none'] } }),
      'spec.access.organizations.0',
      'there is no organization none',
    ],
    [
      'a name without a slash',
      () => ({ model: 'plain' }),
      'spec.model',
      'must be <provider>/<model>, without *',
    ],
  ]
  test.each(refused)(
    'with %s is rejected at the field, and nothing is made',
    async (_, fields, path, message) => {
      const spec = routeSpec(await newProvider())
      const wrong = { ...spec, ...fields(spec) }
      const answer = await call('POST', '/admin/models', { spec: wrong, reason })
      expect([answer.status, errorsOf(answer)]).toEqual([422, [[path, message]]])
      expect(await auditOf(spec.model)).toEqual([])
    },
  )

  test('whose fallbacks would form a cycle is rejected, and the message shows the cycle', async () => {
    const provider = await newProvider()
    const one = await newModel({}, provider)
    const two = await newModel({ fallbacks: [one.model] }, provider)
    const answer = await call(
      'PATCH',
      one.path,
      { spec: { ...one.spec, fallbacks: [two.model] }, reason },
      one.etag,
    )
    const cycle = `must not form a cycle: ${one.model} → ${two.model} → ${one.model}`
    expect(errorsOf(answer)).toEqual([['spec.fallbacks', cycle]])
    expect(await etagOf(one.path)).toBe(one.etag)
  })

  test('is not made twice, and keeps its name', async () => {
    const { spec, path, etag } = await newModel()
    expect(errorsOf(await call('POST', '/admin/models', { spec, reason }))).toEqual([
      ['spec.model', 'there is already a model of this name'],
    ])
    const renamed = await call('PATCH', path, { spec: { ...spec, model: 'shop/other' }, reason }, etag)
    expect(errorsOf(renamed)).toEqual([['spec.model', 'is immutable: create a second model instead']])
  })
})

describe('a provider', () => {
  const storedText = async (name: string) => {
    const { auth, baseUrl } = (await findProvider(pool, name)) ?? expect.fail()
    const sealed = auth.type === 'None' ? '' : auth.sealed
    const header = auth.type === 'Header' ? auth.header : 'authorization'
    const keys = [Buffer.from(secrets.CREDENTIALS_KEY, 'base64')] as const
    return openCredential(sealed, { provider: name, baseUrl, header, caCertificates: undefined }, keys)
  }

  test('is made with an encrypted credential, which is in no response and no row of the audit log', async () => {
    const credential = `sk-${randomUUID()}`
    const name = await newProvider({ credential: `${credential}\n` })
    expect(await storedText(name)).toBe(credential)
    const texts = [(await call('GET', `/admin/providers/${name}`)).body, await auditOf(name)]
    expect(JSON.stringify(texts)).not.toContain(credential)
    expect(JSON.stringify(texts)).not.toContain('sealed')
  })

  test('keeps its credential at its address, and needs it again for another address or header', async () => {
    const name = await newProvider()
    const path = `/admin/providers/${name}`
    const change = async (spec: object, more: object = {}) =>
      call('PATCH', path, { spec: providerSpec(spec), reason, ...more }, await etagOf(path))
    expect((await change({ limits: { requestsPerMinute: 10 } })).status).toBe(200)
    expect(await storedText(name)).toBe('sk-secret')
    const again =
      'enter it again: the stored one may only be sent to the former address, in the former header'
    for (const spec of [
      { baseURL: 'https://evil.example/v1' },
      { auth: { type: 'Header', headerName: 'x-key' } },
    ])
      expect(errorsOf(await change(spec))).toEqual([['credential', again]])
    expect((await change({ baseURL: 'https://new.example/v1' }, { credential: 'sk-new' })).status).toBe(200)
    expect(await storedText(name)).toBe('sk-new')
    const audit = await auditOf(name)
    expect(audit.map(({ after }) => after.secrets)).toEqual([undefined, undefined, 'changed'])
  })

  test('that two administrators change is changed by the first; the other one gets 412', async () => {
    const name = await newProvider()
    const path = `/admin/providers/${name}`
    const etag = await etagOf(path)
    const change = (requestsPerMinute: number) =>
      call('PATCH', path, { spec: providerSpec({ limits: { requestsPerMinute } }), reason }, etag)
    const answers = await Promise.all([change(1), change(2)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
  })

  const loopback = 'is a loopback or private address that UPSTREAM_ALLOWED_CIDRS does not include'
  const metadata = 'is a reserved or cloud metadata address, which is never allowed'
  const network = { http: true, privateAddresses: true }
  test.each([
    ['at loopback', { baseURL: 'http://127.0.0.1:1/v1', network }, 'spec.baseURL', loopback],
    ['at localhost', { baseURL: 'https://localhost/v1', network }, 'spec.baseURL', loopback],
    ['at the metadata service', { baseURL: 'http://169.254.169.254/', network }, 'spec.baseURL', metadata],
    [
      'over plain HTTP',
      { baseURL: 'http://llm.example/v1' },
      'spec.baseURL',
      'is plain HTTP: use https, or set network.http to true to allow it',
    ],
    [
      'at the path of an operation',
      { baseURL: 'https://llm.example/v1/chat/completions' },
      'spec.baseURL',
      'ends with /chat/completions, which gateways add themselves: use https://llm.example/v1',
    ],
    [
      'with a credential that it does not send',
      { auth: { type: 'None' } },
      'credential',
      'must be empty for spec.auth.type None, which sends no credential',
    ],
  ])('%s is rejected at the field, and nothing is made', async (_, spec, path, message) => {
    const name = `p-${aName()}`
    const answer = await call('POST', '/admin/providers', {
      name,
      spec: providerSpec(spec),
      credential: 'sk-secret',
      reason,
    })
    expect([answer.status, errorsOf(answer)]).toEqual([422, [[path, message]]])
    expect(await findProvider(pool, name)).toBeUndefined()
    expect(JSON.stringify(answer.body)).not.toContain('sk-secret')
  })

  test('of a cluster is read-only', async () => {
    const name = await newProvider()
    await pool.query(
      `insert into cluster_resources (cluster_id, kind, namespace, name, uid, generation, subject, revision)
       values ('c1', 'ModelProvider', 'team', $1, 'u', 1, $1, 1)`,
      [name],
    )
    const path = `/admin/providers/${name}`
    const { body } = await call('PATCH', path, { spec: providerSpec(), reason }, await etagOf(path))
    expect(body).toMatchObject({ code: 'managed_by_cluster', cluster: 'c1', namespace: 'team', name })
  })
})

describe('a price', () => {
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

  async function setPrice(path: string, body: object) {
    return call('POST', `${path}/prices`, { reason, ...body }, await etagOf(path))
  }
  const historyOf = async (path: string) =>
    (await call('GET', `${path}/prices`)).body.data.map(
      ({ state, pricing }: { state: string; pricing: { input: string } }) => `${state} ${pricing.input}`,
    )

  test('applies now, and the former one stays in the history', async () => {
    const { model, path } = await newModel()
    const { status, body } = await setPrice(path, { spec: prices('20') })
    expect([status, body.pricing.input]).toEqual([201, '20'])
    expect(await inForce(model)).toBe('20000')
    expect(await historyOf(path)).toEqual(['in_force 20', 'past 15.5'])
    expect((await auditOf(model)).at(-1)).toMatchObject({
      action: 'price.put',
      reason,
      before: { input: '15500' },
      after: { input: '20000' },
    })
  })

  test('waits for its time, is replaced at the same time, and is canceled', async () => {
    const { model, path } = await newModel()
    const valid_from = inMinutes(5)
    const { body } = await setPrice(path, { spec: prices('20'), valid_from })
    expect([body.next_pricing.input, body.next_pricing_from]).toEqual(['20', valid_from])
    expect(await inForce(model)).toBe('15500')
    const taken = 'another price waits for this moment: replace or cancel it'
    expect(errorsOf(await setPrice(path, { spec: prices('21'), valid_from }))).toEqual([
      ['valid_from', taken],
    ])
    const [first] = (await call('GET', `${path}/prices`)).body.data
    const replaced = await setPrice(path, { spec: prices('21'), valid_from, replaces: first.id })
    expect(replaced.body.next_pricing.input).toBe('21')
    const [second] = (await call('GET', `${path}/prices`)).body.data
    const cancel = (id: string) => call('POST', `${path}/prices/${id}/cancel`, { reason })
    expect((await cancel(second.id)).body.next_pricing).toBeNull()
    expect(await historyOf(path)).toEqual(['canceled 21', 'canceled 20', 'in_force 15.5'])
    for (const id of [second.id, first.id, randomUUID(), 'none']) expect((await cancel(id)).status).toBe(404)
    expect((await auditOf(model)).map(({ action }) => action).slice(2)).toEqual([
      'price.schedule',
      'price.cancel',
      'price.schedule',
      'price.cancel',
    ])
  })

  test('that comes into force within seconds can no longer be canceled or replaced', async () => {
    const { model, path } = await newModel()
    const id = randomUUID()
    await pool.query(
      `insert into model_prices (id, model, scheduled, valid_from, input, output, per_request)
       values ($1, $2, true, now() + interval '14 seconds', 20000, 30000, 0)`,
      [id, model],
    )
    expect((await call('POST', `${path}/prices/${id}/cancel`, { reason })).body.code).toBe('price_too_late')
    const replaced = await setPrice(path, { spec: prices('21'), valid_from: inMinutes(5), replaces: id })
    expect(replaced.body.code).toBe('price_too_late')
    // Postgres, too, refuses every other change of a price, and a cancellation of a past one.
    const cancel = `update model_prices set canceled_at = now() where model = '${model}'`
    await expect(pool.query(cancel)).rejects.toThrow()
    await expect(pool.query(cancel.replace('canceled_at', 'valid_from'))).rejects.toThrow('not allowed')
  })

  test.each([
    ['in the past', -5, 'must be at least one minute ahead'],
    ['in half a minute', 0.5, 'must be at least one minute ahead'],
    ['in two years', 2 * 366 * 24 * 60, 'must be within a year'],
  ])('%s is rejected at the field, and nothing changes', async (_, minutes, message) => {
    const { path, etag } = await newModel()
    const answer = await setPrice(path, { spec: prices('20'), valid_from: inMinutes(minutes) })
    expect([answer.status, errorsOf(answer)]).toEqual([422, [['valid_from', message]]])
    expect(await etagOf(path)).toBe(etag)
  })

  test.each([
    ['four decimals', prices('1.2345'), 'spec.pricingRubPerMillionTokens.input'],
    ['a negative amount', prices('-1'), 'spec.pricingRubPerMillionTokens.input'],
    ['zero for everything', prices('0', '0'), 'spec.pricingRubPerMillionTokens'],
    [
      'no output for a chat model',
      { pricingRubPerMillionTokens: { input: '1' } },
      'spec.pricingRubPerMillionTokens',
    ],
    ['another field', { ...prices('1'), model: 'shop/x' }, 'spec.model'],
  ])('with %s is rejected at the field, also in a preview', async (_, spec, field) => {
    const { path, etag } = await newModel()
    for (const answer of [
      await setPrice(path, { spec }),
      await call('POST', `${path}/prices/preview`, { spec }),
    ])
      expect([answer.status, answer.body.errors[0].path]).toEqual([422, field])
    expect(await etagOf(path)).toBe(etag)
  })

  test('of a version that another administrator has changed is rejected with 412', async () => {
    const { path, etag } = await newModel()
    await setPrice(path, { spec: prices('20'), valid_from: inMinutes(5) })
    expect((await call('POST', `${path}/prices`, { spec: prices('30'), reason }, etag)).status).toBe(412)
    expect(await historyOf(path)).toEqual(['scheduled 20', 'in_force 15.5'])
  })

  test('is previewed with what the last week would have cost, of this model only', async () => {
    const { model, path } = await newModel()
    const use = (of: string, hoursAgo: number) =>
      pool.query(
        `insert into usage_hourly (organization_id, api_key_id, model, hour, requests, input, cached_input,
                                   cache_write, output, reasoning, cost)
         values (gen_random_uuid(), gen_random_uuid(), $1, date_trunc('hour', now()) - make_interval(hours => $2),
                 2, 1000, 100, 10, 500, 50, 31415)`,
        [of, hoursAgo],
      )
    for (const hoursAgo of [0, 100, 168, 169]) await use(model, hoursAgo)
    await use('shop/another', 1)
    const spec = {
      pricingRubPerMillionTokens: { input: '10', cachedInput: '1', output: '20' },
      pricingRubPerRequest: '0.5',
    }
    const { body } = await call('POST', `${path}/prices/preview`, { spec })
    const nano = 3n * (1000n * 10_000n + 100n * 1_000n + 10n * 10_000n + 550n * 20_000n + 2n * 500_000_000n)
    expect(body).toMatchObject({
      request_count: '6',
      cost_rub: '0.000094245',
      cost_at_price_rub: `3.${String(nano - 3_000_000_000n)
        .padStart(9, '0')
        .replace(/0+$/, '')}`,
    })
  })
})
