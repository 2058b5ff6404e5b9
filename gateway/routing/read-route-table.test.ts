import { randomUUID } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { expect, test } from 'vitest'
import { type RouteDocumentJson, signDocument } from '#core/catalog/catalog-document'
import { sealCredential } from '#core/catalog/credential-seal'
import { createRouteTableReader, type SignedDocuments } from './read-route-table.ts'

const wrongSignature =
  'invalid signature: the document must be signed for this revision with a key of ROUTES_SIGNING_KEY'
const keys = { signingKeys: ['signing'], sealingKeys: [new Uint8Array(32).fill(1)] } as const
const baseUrl = 'https://provider.example/v1/'

function routeJson(model: string, changes: Partial<RouteDocumentJson> = {}): RouteDocumentJson {
  return {
    model,
    type: 'chat',
    displayName: model,
    description: '',
    createdAtS: 1_760_000_000,
    contextLength: null,
    maxOutputTokens: null,
    defaultOutputTokens: 4096,
    backends: [{ name: 'main', provider: 'demo', model: 'm', priority: 0, weight: 1 }],
    fallbacks: [],
    timeouts: { requestMs: 600_000, firstByteMs: 60_000, streamIdleMs: 60_000 },
    attempts: 2,
    parameters: { drop: [], rename: {}, defaults: {} },
    price: {
      id: randomUUID(),
      input: '1',
      cachedInput: null,
      cacheWrite: null,
      output: '2',
      reasoning: null,
      perRequest: '0',
    },
    organizations: null,
    ...changes,
  }
}

/** Documents by name: each is signed for the revision that it is published with. */
type Documents = Readonly<Record<string, (revision: string) => string>>

function publish(revision: string, documents: Documents): SignedDocuments {
  return Object.fromEntries(Object.entries(documents).map(([name, sign]) => [name, sign(revision)]))
}

function signed(name: string, document: unknown, signingKey: string = keys.signingKeys[0]): Documents {
  return { [name]: (revision) => signDocument(JSON.stringify(document), revision, [signingKey]) }
}

function route(model: string, changes: Partial<RouteDocumentJson> = {}): Documents {
  return signed(`route:${model}`, routeJson(model, changes))
}

function provider(name: string, auth: object = { type: 'None' }, fields: object = {}): Documents {
  const headers = [{ name: 'OpenAI-Project', value: 'p' }]
  return signed(`provider:${name}`, { name, api: 'OpenAI', baseUrl, auth, headers, ...fields })
}

function reader() {
  const rejected: [name: string, why: string][] = []
  const findTable = createRouteTableReader(keys, (name, why) => rejected.push([name, why]))
  const find = (revision: string, documents: Documents) => findTable(revision, publish(revision, documents))
  /** Of documents of which some can be used. */
  const read = (revision: string, documents: Documents) => {
    const table = find(revision, documents)
    if (table === undefined) throw new Error('no document can be used')
    return table
  }
  return { rejected, findTable, find, read }
}

const publicOnly = { plainHttp: false, privateAddresses: false, caCertificates: undefined }

test('a model is found with its backends, their providers opened and ready to be called', () => {
  const sealed = sealCredential(
    'secret',
    { provider: 'demo', baseUrl, header: 'authorization', caCertificates: undefined },
    keys.sealingKeys,
  )
  const own = sealCredential(
    'own',
    { provider: 'azure', baseUrl, header: 'api-key', caCertificates: undefined },
    keys.sealingKeys,
  )
  const { read, rejected } = reader()
  const backends = ['demo', 'azure'].map((name) => ({
    name,
    provider: name,
    model: 'm',
    priority: 0,
    weight: 1,
  }))
  const table = read('7', {
    ...route('demo/echo', { backends }),
    ...provider('demo', { type: 'Bearer', sealed }),
    ...provider('azure', { type: 'Header', header: 'Api-Key', sealed: own }),
  })
  expect(rejected).toEqual([])
  expect(table.revision).toBe('7')
  expect(table.findModel('demo/echo')?.backends.map((backend) => backend.provider)).toEqual([
    {
      name: 'demo',
      api: 'OpenAI',
      quirks: 'generic',
      baseUrl,
      headers: { 'openai-project': 'p', authorization: 'Bearer secret' },
      secrets: ['secret'],
      access: publicOnly,
    },
    {
      name: 'azure',
      api: 'OpenAI',
      quirks: 'generic',
      baseUrl,
      headers: { 'openai-project': 'p', 'api-key': 'own' },
      secrets: ['own'],
      access: publicOnly,
    },
  ])
  expect(table.findModel('demo/echo')?.backends[0]?.dialect).toMatchObject({
    urls: { plain: 'https://provider.example/v1/chat/completions' },
    model: 'm',
  })
  expect(table.findModel('demo/other')).toBeUndefined()
})

test('a backend with weight 0 is left out', () => {
  const backend = { provider: 'demo', model: 'm', priority: 0, weight: 1 }
  const backends = [
    { ...backend, name: 'drained', weight: 0 },
    { ...backend, name: 'live', priority: 1 },
  ]
  const table = reader().read('1', { ...route('a/b', { backends }), ...provider('demo') })
  expect(table.findModel('a/b')?.backends.map(({ name }) => name)).toEqual(['live'])
})

test("a provider's kind adds the headers it needs, filled in from the provider; one it has itself stays", () => {
  const yandex = (template: object, headers: object[] = []) =>
    signed('provider:demo', {
      name: 'demo',
      api: 'YandexGPT',
      baseUrl,
      auth: { type: 'None' },
      template,
      headers,
    })
  const headersOf = (documents: Documents) =>
    reader()
      .read('1', { ...route('demo/echo'), ...documents })
      .findModel('demo/echo')?.backends[0]?.provider.headers
  expect(headersOf(yandex({ folder: 'b1g' }))).toEqual({ 'openai-project': 'b1g' })
  const own = { name: 'OpenAI-Project', value: 'other' }
  expect(headersOf(yandex({ folder: 'b1g' }, [own]))).toEqual({ 'openai-project': 'other' })
  expect(headersOf(yandex({}))).toEqual({})
})

test('a bad document is left out, named once without its contents, and the rest is served', () => {
  const elsewhere = sealCredential(
    'secret',
    {
      provider: 'demo',
      baseUrl: 'https://evil.example',
      header: 'authorization',
      caCertificates: undefined,
    },
    keys.sealingKeys,
  )
  const broken = sealCredential(
    'a\nb',
    { provider: 'broken', baseUrl, header: 'authorization', caCertificates: undefined },
    keys.sealingKeys,
  )
  const documents = {
    ...route('demo/good'),
    ...provider('demo'),
    ...signed('route:demo/forged', routeJson('demo/forged'), 'another key'),
    ...signed('route:demo/renamed', routeJson('demo/good')),
    ...signed('route:demo/odd', { ...routeJson('demo/odd'), attempts: 'many' }),
    'route:demo/text': () => 'no signature',
    ...provider('stolen', { type: 'Bearer', sealed: elsewhere }),
    ...provider('broken', { type: 'Bearer', sealed: broken }),
    ...provider('vouched', { type: 'None' }, { caCertificates: 'no certificate' }),
  }
  const { read, rejected } = reader()
  const table = read('1', documents)
  read('2', documents)
  expect(table.modelsFor(randomUUID()).map(({ document }) => document.model)).toEqual(['demo/good'])
  expect(rejected.toSorted()).toEqual([
    ['provider:broken', 'a header cannot be sent over HTTP'],
    [
      'provider:stolen',
      'the credential cannot be decrypted: CREDENTIALS_KEY must contain the key that encrypted it',
    ],
    ['provider:vouched', 'invalid field: caCertificates'],
    ['route:demo/forged', wrongSignature],
    ['route:demo/odd', 'invalid field: attempts'],
    ['route:demo/renamed', 'the document is for another name'],
    ['route:demo/text', wrongSignature],
  ])
})

test('a document of an older revision is left out of a newer one: an old price cannot be put back', () => {
  const { findTable, rejected } = reader()
  const old = publish('6', route('demo/cheap'))
  const table = findTable('7', { ...publish('7', { ...route('demo/good'), ...provider('demo') }), ...old })
  expect(table?.modelsFor(randomUUID()).map(({ document }) => document.model)).toEqual(['demo/good'])
  expect(rejected).toEqual([['route:demo/cheap', wrongSignature]])
})

test('a provider whose authorities were swapped is left out: its credential is bound to them', () => {
  const { read, rejected } = reader()
  const boundTo = { provider: 'vouched', baseUrl, header: 'authorization', caCertificates: undefined }
  const sealed = sealCredential('secret', boundTo, keys.sealingKeys)
  const caCertificates = rootCertificates[0]
  read('1', {
    ...route('demo/good'),
    ...provider('vouched', { type: 'Bearer', sealed }, { caCertificates }),
  })
  expect(rejected).toEqual([['provider:vouched', expect.stringContaining('credential')]])
})

test('a model whose provider cannot be used is still a model: its fallbacks may serve it', () => {
  const table = reader().read('1', route('demo/echo'))
  expect(table.findModel('demo/echo')?.backends).toEqual([])
})

test('only what an organization may see is listed, in order of name', () => {
  const mine = randomUUID()
  const table = reader().read('1', {
    ...route('z/open'),
    ...route('a/mine', { organizations: [mine] }),
    ...route('b/other', { organizations: [randomUUID()] }),
  })
  expect(table.modelsFor(mine).map(({ document }) => document.model)).toEqual(['a/mine', 'z/open'])
})

test('fallbacks are those that exist and do the same, in order, without theirs', () => {
  const table = reader().read('1', {
    ...route('a/first', { fallbacks: ['a/third', 'a/gone', 'a/vector', 'a/first', 'a/second'] }),
    ...route('a/second', { fallbacks: ['a/fourth'] }),
    ...route('a/third'),
    ...route('a/fourth'),
    ...route('a/vector', { type: 'embedding' }),
  })
  const first = table.findModel('a/first')
  if (first === undefined) throw new Error('no route')
  expect(table.fallbacksOf(first).map(({ document }) => document.model)).toEqual(['a/third', 'a/second'])
})

test('10,000 routes are read in less than a second of the processor, and after that only what changed is parsed again', () => {
  const documents = Object.assign(
    provider('demo'),
    ...Array.from({ length: 10_000 }, (_, n) => route(`demo/${n}`)),
  )
  const first = publish('1', documents)
  // Of a few tries: other work of the machine takes its processor's time, too.
  const tries = Array.from({ length: 4 }, () => {
    const { read, findTable } = reader()
    const usedBefore = process.threadCpuUsage()
    const before = findTable('1', first)
    const { user, system } = process.threadCpuUsage(usedBefore)
    return { read, before, used: user + system }
  })
  expect(Math.min(...tries.map(({ used }) => used))).toBeLessThan(1_000_000)
  const [{ read, before } = expect.fail('no try')] = tries
  const after = read('2', { ...documents, ...route('demo/5', { attempts: 9 }) })
  expect(after.findModel('demo/5')?.document.attempts).toBe(9)
  expect(after.findModel('demo/6')?.document).toBe(before?.findModel('demo/6')?.document)
})

test('documents of which none can be used are no catalog; no documents are an empty one', () => {
  const { find, rejected } = reader()
  const foreign = signed('route:a/b', routeJson('a/b'), 'another key')
  expect(find('1', foreign)).toBeUndefined()
  expect(rejected).toEqual([['route:a/b', wrongSignature]])
  expect(find('2', { ...foreign, ...provider('demo') })?.routes).toEqual([])
  expect(find('3', {})?.routes).toEqual([])
})
