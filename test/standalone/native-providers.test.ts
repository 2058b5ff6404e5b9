import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startAnthropic } from '../support/anthropic.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { geminiKey, startGemini } from '../support/gemini.ts'
import { anthropicKey, nativeManifest, nativeModels } from '../support/native-manifest.ts'
import { startStandalone } from '../support/standalone.ts'

const keyManifest =
  'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ci}\nspec: {organization: acme}\n'

test('a folder with the manifest of Anthropic and Gemini serves completions of both, paid and healthy', async () => {
  const servers = { anthropic: await startAnthropic(), gemini: await startGemini() }
  onTestFinished(() => Promise.all(Object.values(servers).map((server) => server.stop())).then(() => {}))
  const [folder, dataDir] = [folderOfThisTest('native'), folderOfThisTest('native-data')]
  const urls = { anthropic: servers.anthropic.url, gemini: servers.gemini.url }
  writeFileSync(join(folder, 'providers.yaml'), nativeManifest(urls))
  writeFileSync(join(folder, 'key.yaml'), keyManifest)
  const system = await startStandalone({ DATA_DIR: dataDir }, ['--manifests', folder])
  onTestFinished(system.kill)
  const apiKey = readFileSync(join(dataDir, 'keys', 'ci'), 'utf8').trim()
  const client = new OpenAI({ baseURL: system.baseUrl, apiKey, maxRetries: 0 })
  for (const [model, provider] of nativeModels) {
    const asked = { model, messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 50 }
    const { data, response } = await client.chat.completions.create(asked).withResponse()
    expect(data.choices[0]?.message.content).toBe('Hello')
    expect(Number(response.headers.get('x-gateway-cost-rub'))).toBeGreaterThan(0)
    const streamed = await client.chat.completions.stream(asked).finalContent()
    expect(streamed).toBe('Hello')
    const { requests } = servers[provider]
    expect(requests.map(({ fault }) => fault).filter(Boolean)).toEqual([])
    await vi.waitFor(() => expect(requests.map((request) => request.model)).toContain('/models'))
  }
  expect(servers.anthropic.requests.map(({ headers }) => headers['x-api-key'])).toContain(anthropicKey)
  expect(servers.gemini.requests.map(({ headers }) => headers['x-goog-api-key'])).toContain(geminiKey)
}, 60_000)
