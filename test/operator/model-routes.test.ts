import { beforeAll, describe, expect, test, vi } from 'vitest'
import { catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import { makeCertificate } from '../support/certificate.ts'
import type { Process } from '../support/processes.ts'
import { post, untilServed } from '../support/stack.ts'
import { refusal, startUpstream } from '../support/upstream.ts'

const catalog = await catalogClusterOfThisFile()
const { cluster, stack, namespace, apply, applyProvider, applyRoute, remove, waitReady, until } = catalog
let gateway: Process
let key: string

beforeAll(async () => {
  ;({ gateway, key } = await catalog.serve({ OPERATOR_SECRET_POLL_MS: '500' }))
})

/** A credential that by default may be sent to providers. */
async function applySecret(
  name: string,
  data: Readonly<Record<string, string>>,
  labels: object = { 'modelgateway.dev/provider-credential': 'true' },
): Promise<void> {
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, stringData: data })
}

async function ask(model: string, caller = key): Promise<number> {
  const answer = await post(gateway, caller, { model, messages: [{ role: 'user', content: 'x' }] })
  await answer.text()
  return answer.status
}

describe('a ModelRoute', () => {
  test('serves its model once it is Ready, and is not known any more when it is deleted', async () => {
    const provider = unique('p')
    const name = unique('r')
    const model = await applyRoute(name, provider)
    expect(await until('modelroute', name, { ResolvedRefs: 'False/ProviderNotFound' })).toBe(
      `ModelProvider "${provider}" does not exist`,
    )
    await applyProvider(provider)
    await waitReady(name)
    expect(await ask(model)).toBe(200)
    await until('modelprovider', provider, { Ready: 'True/Ready', Healthy: 'True/Healthy' })
    await until('modelroute', name, {
      BackendsHealthy: 'True/BackendsHealthy',
      Programmed: 'True/Programmed',
    })
    expect(await cluster.kubectlOk(['-n', namespace, 'get', 'mgroute', name])).toMatch(/1\/1/)
    await remove('modelroute', name)
    await vi.waitFor(async () => expect(await ask(model)).toBe(404))
  })

  test('that is being deleted is not Ready and names the finalizers that it waits for', async () => {
    const [provider, name] = [unique('p'), unique('r')]
    await applyProvider(provider)
    const model = await applyRoute(name, provider)
    const patch = (object: string, finalizers: readonly string[]) => {
      const change = JSON.stringify({ metadata: { finalizers } })
      return cluster.kubectlOk(['-n', namespace, 'patch', object, '--type=merge', '-p', change])
    }
    for (const object of [`modelroute/${name}`, `modelprovider/${provider}`]) {
      const [kind = '', called = ''] = object.split('/')
      await waitReady(name)
      await patch(object, ['example.com/a', 'example.com/b'])
      await cluster.kubectlOk(['-n', namespace, 'delete', object, '--wait=false'])
      const waits = 'This object is being deleted. It waits for its finalizers: '
      expect(await until(kind, called, { Ready: 'False/Deleting' })).toBe(
        `${waits}example.com/a, example.com/b`,
      )
      if (kind === 'modelroute') await vi.waitFor(async () => expect(await ask(model)).toBe(404))
      await patch(object, ['example.com/b'])
      await vi.waitFor(async () =>
        expect(await until(kind, called, { Ready: 'False/Deleting' })).toBe(`${waits}example.com/b`),
      )
      await patch(object, [])
      if (kind === 'modelroute') await applyRoute(name, provider, { model })
    }
  })

  test('of two for one model the older serves; the younger reports it, and serves when the older is deleted', async () => {
    const provider = unique('p')
    const [first, second] = [unique('a'), unique('b')]
    await applyProvider(provider)
    const model = await applyRoute(first, provider)
    await until('modelroute', first, { Ready: 'True/Programmed' })
    // A second object of the same second would be judged by its name, which is greater, too.
    await applyRoute(second, provider, { model })
    expect(await until('modelroute', second, { Accepted: 'False/Conflict' })).toBe(
      `Model ${model} is already served by the older ModelRoute ${namespace}/${first}`,
    )
    expect(await ask(model)).toBe(200)
    await remove('modelroute', first)
    await until('modelroute', second, { Ready: 'True/Programmed' })
    expect(await ask(model)).toBe(200)
  })

  test('of a model that was created in the cabinet reports it, and the cabinet’s continues to serve', async () => {
    const model = await stack.createModel()
    await untilServed(gateway, key, model)
    const name = unique('r')
    await applyRoute(name, 'none', { model })
    expect(await until('modelroute', name, { Accepted: 'False/Conflict' })).toBe(
      `The cabinet already has a route for model ${model}`,
    )
    expect(await ask(model)).toBe(200)
  })

  test('counts only in the namespaces that were named', async () => {
    const elsewhere = await cluster.createNamespace()
    const name = unique('r')
    await applyRoute(name, 'none', {}, elsewhere)
    await until('modelroute', name, { Accepted: 'False/NamespaceNotAllowed' }, elsewhere)
    await applyProvider(name, {}, elsewhere)
    await until('modelprovider', name, { Accepted: 'False/NamespaceNotAllowed' }, elsewhere)
  })

  test('for an organization that does not exist names it; for one that exists, others do not see the model', async () => {
    const provider = unique('p')
    await applyProvider(provider)
    const customer = await stack.createCustomer()
    const name = unique('r')
    const access = (organization: string) => ({ scope: 'Organizations', organizations: [organization] })
    const model = await applyRoute(name, provider, { access: access('nobody-has-this') })
    expect(await until('modelroute', name, { Accepted: 'False/OrganizationNotFound' })).toContain(
      'nobody-has-this',
    )
    const { rows } = await stack.database.pool.query('select name from organizations where id = $1', [
      customer.organizationId,
    ])
    await applyRoute(name, provider, { access: access(rows[0].name) })
    await until('modelroute', name, { Ready: 'True/Programmed' })
    expect(await ask(model, customer.key)).toBe(200)
    expect(await ask(model)).toBe(404)
  })

  test('that is edited in the database is restored from the object, with an event', async () => {
    const provider = unique('p')
    await applyProvider(provider)
    const name = unique('r')
    const model = await applyRoute(name, provider)
    await until('modelroute', name, { Ready: 'True/Programmed' })
    const { pool } = stack.database
    await pool.query(
      `update model_routes set document = jsonb_set(document, '{description}', '"edited"'), updated_at = clock_timestamp()
        where model = $1`,
      [model],
    )
    await vi.waitFor(async () => {
      const { rows } = await pool.query(
        `select document ->> 'description' as text from model_routes where model = $1`,
        [model],
      )
      expect(rows[0].text).toBe('')
    })
    await vi.waitFor(async () =>
      expect(await cluster.kubectlOk(['-n', namespace, 'events', '--for', `modelroute/${name}`])).toContain(
        'DriftCorrected',
      ),
    )
  })

  test('may have a name of 253 characters', async () => {
    const name = `${'a'.repeat(62)}.${'b'.repeat(62)}.${'c'.repeat(62)}.${'d'.repeat(64)}`
    await applyRoute(name, 'none', { model: unique('tests/long') })
    await until('modelroute', name, { Accepted: 'True/Accepted' })
  })
})

describe('a ModelProvider', () => {
  const bearer = (name: string) => ({ auth: { type: 'Bearer', secretRef: { name, key: 'apiKey' } } })

  test('reports each problem with its Secret until there is none: missing, not meant for it, without the key', async () => {
    const name = unique('p')
    await applyProvider(name, bearer(name))
    await until('modelprovider', name, { ResolvedRefs: 'False/SecretNotFound' })
    await applySecret(name, { apiKey: 'sk-1' }, {})
    expect(await until('modelprovider', name, { ResolvedRefs: 'False/SecretNotLabelled' })).toContain(
      'modelgateway.dev/provider-credential',
    )
    await applySecret(name, { other: 'sk-1' })
    await cluster.kubectlOk([
      '-n',
      namespace,
      'patch',
      'secret',
      name,
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/data/apiKey"}]',
    ])
    await until('modelprovider', name, { ResolvedRefs: 'False/KeyNotFound' })
    await applySecret(name, { apiKey: 'sk-1' })
    await until('modelprovider', name, { Ready: 'True/Ready' })
    await vi.waitFor(async () => {
      const events = await cluster.kubectlOk(['-n', namespace, 'events', '--for', `modelprovider/${name}`])
      for (const reason of ['SecretNotFound', 'SecretNotLabelled', 'KeyNotFound'])
        expect(events.split(`Warning   ${reason} `).length).toBe(2)
    })
    const stored = await stack.database.pool.query(
      'select document::text from model_providers where name = $1',
      [name],
    )
    expect(stored.rows[0].document).not.toContain('sk-1')
  })

  test('a rotated Secret is what the provider sees within seconds', async () => {
    const upstream = await startUpstream()
    const name = unique('p')
    await applySecret(name, { apiKey: 'sk-before' })
    await applyProvider(name, { ...bearer(name), baseURL: upstream.url })
    const model = await applyRoute(name, name)
    await until('modelroute', name, { Ready: 'True/Programmed' })
    const seen = async () => {
      expect(await ask(model)).toBe(200)
      return upstream.requests.at(-1)?.headers.authorization
    }
    expect(await seen()).toBe('Bearer sk-before')
    await applySecret(name, { apiKey: 'sk-after' })
    await vi.waitFor(async () => expect(await seen()).toBe('Bearer sk-after'))
    await upstream.stop()
  })

  test('is called by its spec: TLS with its own authority, its key in the configured header, its headers, too', async () => {
    const certificate = makeCertificate()
    const upstream = await startUpstream({ certificate })
    const name = unique('p')
    await applySecret(name, { apiKey: 'own', 'ca.crt': makeCertificate().cert })
    await applyProvider(name, {
      baseURL: upstream.url,
      network: { privateAddresses: true },
      auth: { type: 'Header', headerName: 'X-Own-Key', secretRef: { name, key: 'apiKey' } },
      headers: [{ name: 'X-Team', value: 'one two' }],
      tls: { caSecretRef: { name } },
    })
    const model = await applyRoute(name, name)
    await waitReady(name)
    expect(await ask(model)).toBe(502) // the authority is another one
    await applySecret(name, { apiKey: 'own', 'ca.crt': certificate.cert })
    await vi.waitFor(async () => expect(await ask(model)).toBe(200))
    expect(upstream.requests.at(-1)?.headers).toMatchObject({ 'x-own-key': 'own', 'x-team': 'one two' })
    await upstream.stop()
  })

  test.each([
    ['http://127.0.0.1:1/v1', { http: true }, 'loopback or private address: set network.privateAddresses'],
    ['https://10.0.0.1/v1', { privateAddresses: true }, 'that UPSTREAM_ALLOWED_CIDRS does not include'],
    [
      'http://169.254.169.254/v1',
      { http: true, privateAddresses: true },
      'is a reserved or cloud metadata address, which is never allowed',
    ],
    [
      'http://metadata.google.internal/v1',
      { http: true },
      'is a reserved or cloud metadata address, which is never allowed',
    ],
  ])('at %s is refused', async (baseURL, network, message) => {
    const name = unique('p')
    await applyProvider(name, { baseURL, network })
    expect(await until('modelprovider', name, { Accepted: 'False/AddressNotAllowed' })).toContain(message)
  })

  test('at a loopback address is used once its spec follows the message', async () => {
    const name = unique('p')
    await applyProvider(name, { network: { http: true } })
    expect(await until('modelprovider', name, { Accepted: 'False/AddressNotAllowed' })).toContain(
      'set network.privateAddresses to true',
    )
    await applyProvider(name, { network: { http: true, privateAddresses: true } })
    await until('modelprovider', name, { Ready: 'True/Ready' })
  })

  test('of an unsupported API format is rejected, and one whose address is of an operation names the right one', async () => {
    const name = unique('p')
    await expect(applyProvider(name, { api: 'Bedrock' })).rejects.toThrow(
      'supported values: "OpenAI", "AzureOpenAI", "Anthropic", "Gemini", "YandexGPT"',
    )
    await applyProvider(name, { baseURL: 'https://llm.example/v1/chat/completions' })
    expect(await until('modelprovider', name, { Accepted: 'False/InvalidSpec' })).toBe(
      'spec.baseURL: ends with /chat/completions, which gateways add themselves: use https://llm.example/v1',
    )
    await applyProvider(name, { api: 'YandexGPT' })
    // The reason was the same before.
    await vi.waitFor(async () =>
      expect(await until('modelprovider', name, { Accepted: 'False/InvalidSpec' })).toContain(
        'must include OpenAI-Project with the ID of the YandexGPT folder',
      ),
    )
    await applyProvider(name, { api: 'YandexGPT', headers: [{ name: 'OpenAI-Project', value: 'b1g' }] })
    await until('modelprovider', name, { Ready: 'True/Ready' })
  })

  test('that rejects its credential is unhealthy, and the route that has no other is, too', async () => {
    const upstream = await startUpstream()
    const name = unique('p')
    await applyProvider(name, { baseURL: upstream.url })
    const model = await applyRoute(name, name)
    await until('modelroute', name, { Ready: 'True/Programmed' })
    upstream.answer(name, refusal(401, 'no such key'))
    expect(await ask(model)).toBe(502)
    await until('modelprovider', name, { Healthy: 'False/CredentialRefused' })
    await until('modelroute', name, { BackendsHealthy: 'False/NoBackendHealthy' })
    await upstream.stop()
  })
})
