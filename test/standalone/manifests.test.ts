import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Standalone, startStandalone } from '../support/standalone.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const folder = mkdtempSync(join(tmpdir(), 'mg-manifests-'))
const dataDir = mkdtempSync(join(tmpdir(), 'mg-manifests-data-'))
const head = 'apiVersion: modelgateway.dev/v1alpha1\n'
/** From a written file to the gateway's answer: a look at the folder, a revision, a poll; 1 s where nothing else runs. */
const servedWithinMs = 3000

let upstream: Upstream
let system: Standalone

function write(file: string, ...documents: readonly string[]): void {
  writeFileSync(join(folder, file), documents.join('---\n'))
}

function providerManifest(url: string, secret: string): readonly string[] {
  return [
    `apiVersion: v1\nkind: Secret\nmetadata: {name: llm}\nstringData: {apiKey: ${secret}}\n`,
    `${head}kind: ModelProvider
metadata: {name: llm, annotations: {modelgateway.dev/quirks: tgi}}
spec:
  api: OpenAI
  baseURL: ${url}
  network: {http: true, privateAddresses: true}
  auth: {type: Bearer, secretRef: {name: llm, key: apiKey}}
`,
  ]
}

function routeManifest(name: string, price = '"10.000"'): string {
  return `${head}kind: ModelRoute
metadata: {name: ${name}}
spec:
  model: acme/${name}
  backends:
    - {name: main, providerRef: {name: llm}, model: ${name}}
  pricingRubPerMillionTokens:
    input: ${price}
    output: "30.000"
  pricingRubPerRequest: "0.5"
`
}

function keyManifest(spec = ''): string {
  return `${head}kind: ApiKey\nmetadata: {name: ci}\nspec:\n  organization: acme\n  allowedModels: ["acme/*"]\n${spec}`
}

const keyOf = (name: string) => readFileSync(join(dataDir, 'keys', name), 'utf8').trim()

async function ask(model: string, key = keyOf('ci')) {
  const response = await fetch(`${system.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  const body = (await response.json()) as { readonly error?: { readonly code: string } }
  return { status: response.status, code: body.error?.code, headers: response.headers }
}

/** Waits for this response of the gateway, and returns how long that took. */
async function until(model: string, outcome: number | string, key?: string): Promise<number> {
  const startedAtMs = performance.now()
  await vi.waitFor(
    async () => {
      const { status, code } = await ask(model, key)
      expect([status, code]).toContain(outcome)
    },
    { timeout: 15_000, interval: 20 },
  )
  return performance.now() - startedAtMs
}

beforeAll(async () => {
  upstream = await startUpstream()
  write('provider.yaml', ...providerManifest(upstream.url, 'first-secret'))
  write('routes.yml', routeManifest('one'), routeManifest('two'))
  write('keys.yaml', keyManifest('  readBalance: true\n'))
  write('notes.txt', 'not a manifest')
  const settings = { DATA_DIR: dataDir, OPENAI_API_KEY: 'sk-environment', STANDALONE_BALANCE_RUB: '250.5' }
  system = await startStandalone(settings, ['--manifests', folder])
})

afterAll(async () => {
  await system.stop()
  await upstream.stop()
  for (const made of [folder, dataDir]) rmSync(made, { recursive: true, force: true })
})

test('the folder is served as soon as the system is ready; its key is printed once and stored', async () => {
  expect(system.said()).toContain(`API key ci: ${keyOf('ci')}`)
  const { status, headers } = await ask('acme/one')
  expect(status).toBe(200)
  expect(Number(headers.get('x-gateway-cost-rub'))).toBeGreaterThan(0.5)
  const [request] = upstream.requestsFor('one')
  expect(request?.headers.authorization).toBe('Bearer first-secret')
  expect((await ask('demo/echo')).code).toBe('model_not_allowed')
})

test('an organization is made on first sight, with its opening balance', async () => {
  const response = await fetch(`${system.baseUrl}/key`, {
    headers: { authorization: `Bearer ${keyOf('ci')}` },
  })
  const { balance } = (await response.json()) as { readonly balance: { readonly balance_rub: string } }
  expect(balance.balance_rub).toMatch(/^2(50\.5|4\d\.\d+)$/) // or less what was asked for before
})

test('OPENAI_API_KEY adds models of OpenAI', async () => {
  const response = await fetch(`${system.baseUrl}/models`, {
    headers: { authorization: `Bearer ${system.apiKey}` },
  })
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] }
  const models = data.map(({ id }) => id)
  expect(models).toEqual(expect.arrayContaining(['openai/gpt-4o-mini', 'acme/one', 'demo/echo']))
})

test('a new document is served at once, and a removed one is not', async () => {
  write('more.yaml', routeManifest('three'))
  expect(await until('acme/three', 200)).toBeLessThan(servedWithinMs)
  rmSync(join(folder, 'more.yaml'))
  expect(await until('acme/three', 'model_not_found')).toBeLessThan(servedWithinMs)
})

test('a bad edit is named with file, line and reason; the last good one is served on, and so is the rest', async () => {
  write('routes.yml', routeManifest('one', '10.5'), routeManifest('two'), routeManifest('four'))
  await until('acme/four', 200)
  expect(system.said()).toMatch(
    /routes\.yml:9 {2}ModelRoute "one": spec\.pricingRubPerMillionTokens\.input: must be a quoted amount of rubles/,
  )
  expect((await ask('acme/one')).status).toBe(200)
  expect((await ask('acme/two')).status).toBe(200)
  write('routes.yml', 'kind: [')
  await vi.waitFor(() => expect(system.said()).toMatch(/routes\.yml:1 {2}the document: /), {
    timeout: 10_000,
  })
  write('routes.yml', '')
  await vi.waitFor(() => expect(system.said()).toMatch(/routes\.yml:1 {2}the file: is empty/), {
    timeout: 10_000,
  })
  expect((await ask('acme/one')).status).toBe(200)
  write('routes.yml', routeManifest('one'))
  await until('acme/two', 'model_not_found')
  expect((await ask('acme/one')).status).toBe(200)
})

test("a changed Secret is the provider's new credential", async () => {
  write('provider.yaml', ...providerManifest(upstream.url, 'second-secret'))
  await vi.waitFor(
    async () => {
      await ask('acme/one')
      expect(upstream.requestsFor('one').at(-1)?.headers.authorization).toBe('Bearer second-secret')
    },
    { timeout: 15_000, interval: 50 },
  )
})

test('a key follows its document: limits, suspension, rotation, removal', async () => {
  const first = keyOf('ci')
  write('keys.yaml', keyManifest('  suspend: true\n'))
  await until('acme/one', 'api_key_blocked')
  write('keys.yaml', keyManifest('  limits: {requestsPerMinute: 1000, dailyBudgetRub: "0"}\n'))
  await until('acme/one', 'daily_budget_exceeded')
  write('keys.yaml', keyManifest('  rotation: {trigger: "2026-11-21", gracePeriod: 1h}\n'))
  await vi.waitFor(() => expect(keyOf('ci')).not.toBe(first), { timeout: 10_000 })
  await until('acme/one', 200, keyOf('ci'))
  await until('acme/one', 200, first) // for its hour of grace
  const second = keyOf('ci')
  expect(system.said()).toContain(`API key ci: ${second}`)
  rmSync(join(folder, 'keys.yaml'))
  await until('acme/one', 'invalid_api_key', second)
  expect(() => keyOf('ci')).toThrow()
})

test('started again without the folder everything stays; the same folder again changes nothing', async () => {
  write('keys.yaml', keyManifest('  deletionPolicy: Orphan\n'))
  await vi.waitFor(() => expect(keyOf('ci')).toMatch(/^sk-gateway-/), { timeout: 10_000 })
  const key = keyOf('ci')
  await until('acme/one', 200, key)
  expect(await system.stop()).toBe(0)
  system = await startStandalone({ DATA_DIR: dataDir })
  expect((await ask('acme/one', key)).status).toBe(200)
  expect((await ask('openai/gpt-4o', system.apiKey)).code).toBe('model_not_found')
  expect(await system.stop()).toBe(0)

  system = await startStandalone({ DATA_DIR: dataDir }, ['--manifests', folder])
  expect(keyOf('ci')).toBe(key)
  expect(system.said()).not.toContain('API key')
  rmSync(join(folder, 'keys.yaml'))
  rmSync(join(folder, 'routes.yml'))
  await until('acme/one', 'model_not_found', key) // the key is an orphan: it is still known
}, 60_000)
