import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startAnthropic } from '../support/anthropic.ts'
import { catalogClusterOfThisFile } from '../support/catalog-cluster.ts'
import { geminiKey, startGemini } from '../support/gemini.ts'
import { anthropicKey, nativeManifest, nativeModels } from '../support/native-manifest.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { post } from '../support/stack.ts'
import type { Upstream } from '../support/upstream.ts'

const { cluster, namespace, serve, waitReady, until } = await catalogClusterOfThisFile()
const servers = { anthropic: await startAnthropic(), gemini: await startGemini() }
afterAll(() => Promise.all(Object.values(servers).map((server) => server.stop())))
let gateway: Process
let key: string

beforeAll(async () => {
  ;({ gateway, key } = await serve({ OPERATOR_SECRET_POLL_MS: '500' }))
  const urls = { anthropic: servers.anthropic.url, gemini: servers.gemini.url }
  await cluster.kubectlOk(['-n', namespace, 'apply', '-f', '-'], nativeManifest(urls))
})

const keyHeaders = { anthropic: ['x-api-key', anthropicKey], gemini: ['x-goog-api-key', geminiKey] } as const

const providerCalls = ({ requests }: Upstream) => requests.filter(({ model }) => model !== '/models')

describe.each(nativeModels)('%s, applied with kubectl', (model, provider) => {
  const server = servers[provider]
  const route = model.split('/')[1] ?? ''
  const messages = [{ role: 'user', content: 'Hi' }]

  test('is healthy without a request: one gateway listed its models', async () => {
    await until('modelprovider', provider, { Healthy: 'True/Healthy', Ready: 'True/Ready' })
    const [name, value] = keyHeaders[provider]
    expect(providerCalls(server)).toEqual([])
    expect(server.requestsFor('/models').map(({ headers, fault }) => [headers[name], fault])).toEqual([
      [value, undefined],
    ])
  })

  test.each([false, true])('gives a completion (stream: %s)', async (stream) => {
    await waitReady(route)
    const answer = await post(gateway, key, { model, messages, max_tokens: 50, stream })
    const text = await answer.text()
    expect(answer.status, text).toBe(200)
    expect(text).toMatch(stream ? /"content":"Hel[\s\S]*\[DONE\]/ : /"content":"Hello"/)
    expect(
      providerCalls(server)
        .map(({ fault }) => fault)
        .filter(Boolean),
    ).toEqual([])
  })

  test('counts its tokens by model, and what it could not send by parameter', async () => {
    await waitReady(route)
    const before = [await tokensOf('input'), await tokensOf('output')] as const
    const asked = { model, messages, max_tokens: 50, logit_bias: { 1: 1 }, service_tier: 'flex' }
    const answer = await post(gateway, key, asked)
    await answer.text()
    expect(answer.headers.get('x-gateway-dropped-params')).toBe('logit_bias,service_tier')
    await vi.waitFor(async () => {
      for (const param of ['logit_bias', 'service_tier']) {
        const series = `params_dropped_total{provider="${provider}",param="${param}"}`
        expect(await readMetric(gateway, series)).toBe(1)
      }
      expect(await tokensOf('input')).toBe(before[0] + 10)
      expect(await tokensOf('output')).toBe(before[1] + 5)
    })
  })

  async function tokensOf(type: 'input' | 'output'): Promise<number> {
    const labels = `gen_ai_operation_name="chat",gen_ai_provider_name="${provider}",gen_ai_request_model="${model}",gen_ai_token_type="${type}"`
    const start = `gen_ai_client_token_usage_sum{${labels}} `
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    const line = metrics.split('\n').find((candidate) => candidate.startsWith(start))
    return Number(line?.slice(start.length) ?? 0)
  }
})

test('the annotation of a provider decides the version of Anthropic’s API', async () => {
  await waitReady('claude-opus-5')
  const versions = () => servers.anthropic.requests.map(({ headers }) => headers['anthropic-version'])
  expect(new Set(versions())).toEqual(new Set(['2026-10-21']))
  await cluster.kubectlOk([
    '-n',
    namespace,
    'annotate',
    'modelprovider',
    'anthropic',
    'modelgateway.dev/quirks-',
  ])
  await vi.waitFor(async () => {
    await (
      await post(gateway, key, { model: nativeModels[0][0], messages: [{ role: 'user', content: 'Hi' }] })
    ).text()
    expect(versions().at(-1)).toBe('2023-06-01')
  })
})

test('an option that only a route may set is sent with every request of its model', () => {
  for (const { body } of providerCalls(servers.gemini))
    expect(body.generationConfig).toMatchObject({ topK: 40 })
})
