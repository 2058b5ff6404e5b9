import { describe, expect, test } from 'vitest'
import { manifestsOfEnvironment } from './models-from-environment.ts'
import type { Owned } from './owned.ts'
import { planManifests } from './plan-manifests.ts'
import { readDocument, splitDocuments } from './read-document.ts'
import type { Folder } from './read-folder.ts'
import { variableOf } from './secret.ts'

const nothing: Owned = { providers: {}, routes: {}, keys: {} }
const head = 'apiVersion: modelgateway.dev/v1alpha1\n'

function provider(name: string, spec = ''): string {
  return `${head}kind: ModelProvider\nmetadata: {name: ${name}}\nspec:\n  api: OpenAI\n  baseURL: https://llm.example/v1\n${spec}`
}

function route(name: string, spec = '', model = `acme/${name}`, providerName = 'llm'): string {
  return `${head}kind: ModelRoute\nmetadata: {name: ${name}}\nspec:\n  model: ${model}\n  free: true\n  backends:\n    - {name: main, providerRef: {name: ${providerName}}, model: m}\n${spec}`
}

function key(name: string, spec = ''): string {
  return `${head}kind: ApiKey\nmetadata: {name: ${name}}\nspec:\n  organization: acme\n${spec}`
}

/** A folder of files, each with documents. */
function folderOf(files: Readonly<Record<string, readonly string[]>>): Folder {
  const manifests: Folder['manifests'][number][] = []
  const problems: Folder['problems'][number][] = []
  for (const [name, documents] of Object.entries(files))
    for (const { text, linesBefore } of splitDocuments(documents.join('---\n'))) {
      const reading = readDocument(text)
      if (reading.kind === 'empty') continue
      const position = { file: `/m/${name}`, line: linesBefore + reading.line }
      if (reading.kind === 'resource') manifests.push({ resource: reading.resource, position, text })
      else problems.push({ position, what: reading.what, reason: reading.reason, about: reading.about })
    }
  return { path: '/m', manifests, problems }
}

function plan(
  files: Readonly<Record<string, readonly string[]>>,
  owned: Partial<Owned> = {},
  environment: Record<string, string> = {},
) {
  const planned = planManifests(folderOf(files), { ...nothing, ...owned }, environment)
  return {
    providers: planned.providers.map(({ draft }) => draft.document.name),
    models: planned.routes.map(({ route: { model } }) => model),
    keys: planned.keys.map(({ name }) => name),
    removed: planned.removed,
    kept: planned.kept,
    problems: planned.problems.map(sentence),
    warnings: planned.warnings.map(sentence),
    planned,
  }
}

function sentence({ position, what, reason }: Folder['problems'][number]): string {
  return `${position.file.slice(3)}:${position.line} ${what}: ${reason}`
}

const none = { providers: [], models: [], keys: [] }

test('a folder asks for its providers, routes and keys', () => {
  const { providers, models, keys, removed, problems, warnings } = plan({
    'a.yaml': [provider('llm'), route('one'), route('two')],
    'b.yaml': [key('ci')],
  })
  expect([providers, models, keys]).toEqual([['llm'], ['acme/one', 'acme/two'], ['ci']])
  expect([removed, problems, warnings]).toEqual([none, [], []])
})

describe('a document that cannot be served gets the reason, and the others are served', () => {
  const auth = '  auth: {type: Bearer, secretRef: {name: corp-llm, key: apiKey}}\n'
  test.each([
    [
      'a kind of provider without an adapter',
      provider('odd').replace('api: OpenAI', 'api: Bedrock'),
      'a.yaml:9 ModelProvider "odd": spec.api: must be one of OpenAI, AzureOpenAI, Anthropic, Gemini, YandexGPT',
    ],
    [
      'a missing Secret',
      provider('odd', auth),
      'a.yaml:11 ModelProvider "odd": spec.auth.secretRef: no Secret "corp-llm" with the key "apiKey"; add it to this folder, or set CORP_LLM_API_KEY in the environment',
    ],
    [
      'plain http that nobody asked for',
      provider('odd').replace('https', 'http'),
      'a.yaml:10 ModelProvider "odd": spec.baseURL: is plain HTTP: use https, or set network.http to true to allow it',
    ],
    [
      'an address of this machine that nobody asked for',
      provider('odd').replace('https://llm.example/v1', 'https://127.0.0.1:11434/v1'),
      'a.yaml:10 ModelProvider "odd": spec.baseURL: is a loopback or private address: set network.privateAddresses to true to allow it',
    ],
    [
      "an address of a cloud's metadata",
      provider('odd', '  network: {privateAddresses: true}\n').replace('llm.example', '169.254.169.254'),
      'a.yaml:10 ModelProvider "odd": spec.baseURL: is a reserved or cloud metadata address, which is never allowed',
    ],
    [
      'a private address that is not of this network',
      provider('odd', '  network: {privateAddresses: true}\n').replace('llm.example', '100.64.0.1'),
      'a.yaml:10 ModelProvider "odd": spec.baseURL: is a loopback or private address that UPSTREAM_ALLOWED_CIDRS does not include',
    ],
    [
      'a header that no call can have',
      provider('odd', '  headers: [{name: Expect, value: x}]\n'),
      'a.yaml:11 ModelProvider "odd": spec.headers.0.name: is a connection header, which the gateway sets itself',
    ],
    [
      'a name of the system',
      provider('demo'),
      'a.yaml:7 ModelProvider "demo": metadata.name: "demo" is reserved for the demo provider and its models; choose another name',
    ],
    [
      'a route without a price',
      route('odd').replace('  free: true\n', ''),
      'a.yaml:8 ModelRoute "odd": spec: must have a price: set pricingRubPerMillionTokens, or set free to true',
    ],
    [
      'a route to nowhere',
      route('odd', '', 'acme/odd', 'gone'),
      'a.yaml:12 ModelRoute "odd": spec.backends.0.providerRef: ModelProvider "gone" does not exist or has a problem',
    ],
    [
      'a route to a provider with a name of JavaScript',
      route('odd', '', 'acme/odd', 'constructor'),
      'a.yaml:12 ModelRoute "odd": spec.backends.0.providerRef: ModelProvider "constructor" does not exist or has a problem',
    ],
    [
      'a model of the system',
      route('odd', '', 'demo/echo'),
      'a.yaml:9 ModelRoute "odd": spec.model: "demo" is reserved for the demo provider and its models; choose another name',
    ],
    [
      'a model that is routed already',
      route('odd', '', 'acme/good'),
      'a.yaml:9 ModelRoute "odd": spec.model: acme/good is already defined at b.yaml:8; all namespaces share one set of names here',
    ],
    [
      'a name that is there already',
      route('good', '', 'acme/odd'),
      'b.yaml:10 ModelRoute "good": metadata.name: good is already defined at a.yaml:5; all namespaces share one set of names here',
    ],
  ])('%s', (_what, document, problem) => {
    const owned = {
      routes: { 'acme/good': { file: '/m/b.yaml', name: 'good' } },
      providers: { llm: { file: '/m/b.yaml' } },
    }
    const files = {
      'a.yaml': ['# first\n# of\n# all\n---\n', document].join('').split('---\n'),
      'b.yaml': [provider('llm'), route('good'), key('ci')],
    }
    const { models, keys, problems, removed } = plan(files, owned)
    expect(models).toContain(problem.startsWith('b.yaml') ? 'acme/odd' : 'acme/good')
    expect(keys).toEqual(['ci'])
    expect(problems).toEqual([problem])
    expect(removed).toEqual(none)
  })
})

describe('what is removed', () => {
  const owned: Owned = {
    providers: { llm: { file: '/m/a.yaml' } },
    routes: {
      'acme/one': { file: '/m/a.yaml', name: 'one' },
      'acme/two': { file: '/m/b.yaml', name: 'two' },
    },
    keys: {
      ci: {
        file: '/m/b.yaml',
        keyId: 'k',
        organization: 'acme',
        rotationTrigger: null,
        deletionPolicy: 'Revoke',
      },
    },
  }

  test('is what was there before and is not any more', () => {
    const { removed, problems } = plan({ 'a.yaml': [provider('llm'), route('one')] }, owned)
    expect(removed).toEqual({ providers: [], models: ['acme/two'], keys: ['ci'] })
    expect(problems).toEqual([])
  })

  test('is nothing of a file that has a problem: what a bad document asked for when it was good stays', () => {
    const bad = route('one').replace('  free: true\n', '')
    const { removed, models, problems } = plan(
      { 'a.yaml': [bad, route('three')], 'b.yaml': [route('two')] },
      owned,
    )
    expect(models).toEqual(['acme/three', 'acme/two'])
    expect(removed).toEqual({ providers: [], models: [], keys: ['ci'] })
    expect(problems).toHaveLength(1)
  })

  test.each([
    ['an unknown field', key('ci', '  limit: 1\n')],
    ['an organization that it cannot have', key('ci').replace('acme', 'other')],
    ['a kind with a typo', key('ci').replace('ApiKey', 'ApiKy')],
    ['an old version', key('ci').replace('v1alpha1', 'v0')],
    ['a name with a typo', key('Ci')],
    ['no name', key('ci').replace('{name: ci}', '{nmae: ci}')],
    [
      'a list around it',
      `apiVersion: v1\nkind: List\nitems:\n  - {apiVersion: ${head.slice(12, -1)}, kind: ApiKey}\n`,
    ],
    ['a text that is no YAML', 'kind: ['],
  ])('is nothing that a bad document may name, wherever it was moved: %s', (_, moved) => {
    const { removed, kept, problems } = plan(
      { 'a.yaml': [provider('llm'), route('one')], 'b.yaml': [route('two')], 'c.yaml': [moved] },
      owned,
    )
    expect(problems).toHaveLength(1)
    expect([removed, kept]).toEqual([none, ['ApiKey "ci"']])
  })

  test('is no route or provider whose document was spoilt and moved, and what relies on it is served on', () => {
    const moved = [provider('llm', '  limits: none\n'), route('one', '  timeouts: none\n')]
    const unnamed = route('odd', '  timeouts: none\n', 'acme/two')
    const { models, removed, kept } = plan({ 'c.yaml': moved, 'd.yaml': [route('three'), unnamed] }, owned)
    expect(models).toEqual(['acme/three'])
    expect(removed).toEqual({ providers: [], models: [], keys: ['ci'] })
    expect(kept).toEqual(['ModelProvider "llm"', 'ModelRoute "acme/one"', 'ModelRoute "acme/two"'])
  })

  test("is not held up by documents of others or by another document's mistake", () => {
    const foreign = 'apiVersion: kustomize.config.k8s.io/v1\nkind: Kustomization\nresources: [a.yaml]\n'
    const { removed, kept } = plan(
      { 'a.yaml': [provider('llm'), route('one')], 'c.yaml': [foreign, key('other', '  limit: 1\n')] },
      owned,
    )
    expect([removed, kept]).toEqual([{ providers: [], models: ['acme/two'], keys: ['ci'] }, []])
  })

  test('is nothing that came from another folder: a wrong argument revokes no key', () => {
    const folder = { path: '/other', manifests: [], problems: [] }
    expect(planManifests(folder, owned, {}).removed).toEqual(none)
    expect(planManifests({ ...folder, path: null }, owned, {}).removed).toEqual(none)
  })

  test('a route whose provider is taken away gets the reason, and stays as it was', () => {
    const { removed, problems } = plan({ 'b.yaml': [route('two'), key('ci')] }, owned)
    expect(problems).toEqual([
      'b.yaml:8 ModelRoute "two": spec.backends.0.providerRef: ModelProvider "llm" does not exist or has a problem',
    ])
    expect(removed).toEqual({ providers: ['llm'], models: ['acme/one'], keys: [] })
  })

  test('an organization of a key cannot change', () => {
    const other = key('ci').replace('acme', 'other')
    const { problems, removed } = plan(
      { 'a.yaml': [provider('llm'), route('one')], 'b.yaml': [route('two'), other] },
      owned,
    )
    expect(problems).toEqual([
      'b.yaml:14 ApiKey "ci": spec.organization: cannot be changed from "acme"; create another key',
    ])
    expect(removed).toEqual(none)
  })
})

test('a Secret is found in the folder, else in the environment; stringData wins over data', () => {
  const auth = '  auth: {type: Bearer, secretRef: {name: llm-secret, key: apiKey}}\n'
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: llm-secret}\ndata: {apiKey: Zmlyc3Q=}\n'
  const credentialOf = (documents: readonly string[], environment = {}) =>
    plan({ 'a.yaml': [provider('llm', auth), ...documents] }, {}, environment).planned.providers[0]
      ?.credential
  expect(credentialOf([secret])).toBe('first')
  expect(credentialOf([`${secret}stringData: {apiKey: second}\n`])).toBe('second')
  expect(credentialOf([], { LLM_SECRET_API_KEY: 'third' })).toBe('third')
  expect(credentialOf([secret], { LLM_SECRET_API_KEY: 'third' })).toBe('first')
  expect(variableOf('openai', 'apiKey')).toBe('OPENAI_API_KEY')
  expect(variableOf('corp-ca', 'ca.crt')).toBe('CORP_CA_CA_CRT')
})

describe('a Secret that gateways could not use is reported, and the provider keeps its credential', () => {
  const auth = '  auth: {type: Bearer, secretRef: {name: s, key: k}}\n'
  const tls = '  tls: {caSecretRef: {name: s}}\n'
  const needs = 'spec.auth.secretRef: no Secret "s" with the key "k"'
  const unsendable =
    'spec.auth.secretRef: the credential contains characters that an HTTP header cannot carry'
  const notPem = 'spec.tls.caSecretRef: the Secret has no valid PEM certificate under the key ca.crt'
  test.each([
    ['an empty variable', auth, {}, { S_K: '' }, needs],
    ['a blank text', auth, { k: ' \n' }, {}, needs],
    ['a line break', auth, { k: 'sk-a\nx-b: c' }, {}, unsendable],
    ['letters that are not ASCII', auth, { k: 'sk-ключ' }, {}, unsendable],
    ['no certificate', tls, { 'ca.crt': 'hello' }, {}, notPem],
    ['an empty certificate', tls, { 'ca.crt': '' }, {}, 'spec.tls.caSecretRef: no Secret "s"'],
  ])('%s', (_, spec, stringData, environment, problem) => {
    const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: ${JSON.stringify(stringData)}\n`
    const owned = { providers: { llm: { file: '/m/a.yaml' } } }
    const { providers, models, removed, problems } = plan(
      { 'a.yaml': [provider('llm', spec)], 'b.yaml': [secret, route('one')] },
      owned,
      environment,
    )
    expect([providers, models, removed]).toEqual([[], ['acme/one'], none])
    expect(problems).toEqual([expect.stringContaining(`ModelProvider "llm": ${problem}`)])
  })
})

test('two Secrets of one name are reported; the first counts', () => {
  const auth = '  auth: {type: Bearer, secretRef: {name: s, key: k}}\n'
  const secret = (value: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: ${value}}\n`
  const { planned, problems } = plan({
    'a.yaml': [provider('llm', auth), secret('first')],
    'b.yaml': [secret('second')],
  })
  expect(planned.providers.map(({ credential }) => credential)).toEqual(['first'])
  expect(problems).toEqual([
    'b.yaml:3 Secret "s": metadata.name: s is already defined at a.yaml:9; all namespaces share one set of names here',
  ])
})

test('fallbacks that lead nowhere or round are noted, and served all the same', () => {
  const fallbacks = (...models: string[]) => `  fallbacks: [${models.join(', ')}]\n`
  const { models, problems, warnings } = plan({
    'a.yaml': [
      provider('llm'),
      route('one', fallbacks('acme/two', 'acme/gone', 'demo/echo')),
      route('two', fallbacks('acme/three')),
      route('three', fallbacks('acme/two')),
    ],
  })
  expect(models).toEqual(['acme/one', 'acme/two', 'acme/three'])
  expect(problems).toEqual([])
  expect(warnings).toEqual([
    'a.yaml:16 ModelRoute "one": spec.fallbacks.1: no route serves the fallback acme/gone; the gateway skips it',
    'a.yaml:26 ModelRoute "two": spec.fallbacks: fallbacks form a loop: acme/two → acme/three → acme/two. This is harmless: the fallbacks of a fallback are not tried',
  ])
})

test('one backend without its provider is noted, as long as there is another', () => {
  const second = '    - {name: other, providerRef: {name: gone}, model: m}\n'
  const { models, warnings } = plan({ 'a.yaml': [provider('llm'), route('one', second)] })
  expect(models).toEqual(['acme/one'])
  expect(warnings).toEqual([
    'a.yaml:16 ModelRoute "one": spec.backends.1.providerRef: ModelProvider "gone" does not exist or has a problem',
  ])
})

test('a backend with weight 0 is never tried: with the other’s provider missing its route serves nothing', () => {
  const drained = '    - {name: drained, providerRef: {name: llm}, model: m, weight: 0}\n'
  const { models, problems } = plan({
    'a.yaml': [provider('llm'), route('one', drained, 'acme/one', 'gone')],
  })
  expect(models).toEqual([])
  expect(problems).toEqual([
    'a.yaml:15 ModelRoute "one": spec.backends.0.providerRef: ModelProvider "gone" does not exist or has a problem',
  ])
})

test('10,000 routes are planned, and one more gets the reason that it is one too many', () => {
  const [reading] = folderOf({ 'a.yaml': [route('r')] }).manifests
  const { resource } = reading ?? {}
  if (reading === undefined || resource?.kind !== 'ModelRoute') throw new Error('no route')
  const manifests = Array.from({ length: 10_001 }, (_, n) => ({
    ...reading,
    resource: {
      ...resource,
      metadata: { name: `r${n}` },
      spec: { ...resource.spec, model: `acme/r${n}`, fallbacks: [`acme/r${(n + 1) % 10_001}`] },
    },
  }))
  const before = process.threadCpuUsage()
  const folder = { path: '/m', manifests, problems: [] }
  const planned = planManifests(folder, { ...nothing, providers: { llm: { file: '/m/a.yaml' } } }, {})
  expect(planned.routes).toHaveLength(0) // its provider is gone
  const served = planManifests(
    { ...folder, manifests: [...folderOf({ 'p.yaml': [provider('llm')] }).manifests, ...manifests] },
    nothing,
    {},
  )
  expect(served.routes).toHaveLength(10_000)
  expect(served.problems.map(({ reason }) => reason)).toEqual(['exceeds the limit of 10000 routes'])
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(5000)
})

test('a key of a provider in the environment adds some of its models, but none that the folder routes itself', () => {
  const own = folderOf({ 'a.yaml': [provider('llm'), route('mine', '', 'openai/gpt-4o')] })
  expect(manifestsOfEnvironment({}, own)).toEqual([])
  const environment = { OPENAI_API_KEY: 'sk-x', ANTHROPIC_API_KEY: 'sk-ant', GEMINI_API_KEY: 'AIza' }
  const extra = manifestsOfEnvironment(environment, own)
  const planned = planManifests({ ...own, manifests: [...own.manifests, ...extra] }, nothing, environment)
  expect(planned.problems).toEqual([])
  expect(planned.providers.map(({ credential }) => credential)).toEqual([undefined, 'sk-x', 'sk-ant', 'AIza'])
  const byModel = new Map(planned.routes.map((desired) => [desired.route.model, desired]))
  expect(byModel.get('openai/gpt-4o')?.price).toBeNull()
  expect(byModel.get('openai/gpt-4o-mini')).toMatchObject({
    position: { file: 'OPENAI_API_KEY', line: 1 },
    price: { input: 15_000n, output: 60_000n },
  })
  expect(byModel.get('openai/text-embedding-3-small')?.route.type).toBe('embedding')
  expect(byModel.get('anthropic/claude-opus-5')?.price).toMatchObject({ cacheWrite: 625_000n })
  expect(byModel.get('gemini/gemini-embedding-001')?.route.type).toBe('embedding')
})
