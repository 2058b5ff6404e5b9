import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import {
  type ConnectClientId,
  type Connection,
  connectClientIds,
  connectClients,
  type SnippetPart,
} from './snippets.ts'

const hostile = `It's "quoted"; $HOME \`date\` \\ and\na second line 'again' № 1`

const plain: Connection = {
  baseUrl: 'https://gateway.example/v1',
  key: 'sk-gateway-one',
  model: 'acme/chat-1',
  prompt: 'Hello!',
}

const textOf = (parts: readonly SnippetPart[]) =>
  parts
    .flatMap((part) => (part.kind === 'fields' ? part.fields.map(([, value]) => value) : [part.code]))
    .join('\n')

test.each(connectClientIds)('the configuration of %s contains the URL, the key once, and the model', (id) => {
  const text = textOf(connectClients[id].partsOf(plain))
  expect(text).toContain('https://gateway.example')
  expect(text).toContain('acme/chat-1')
  expect(text.split('sk-gateway-one')).toHaveLength(2)
})

const programs = 'curl python node go gradle dotnet codex claude open-webui'.split(' ')

/** The environment and the arguments that a program gets, one text each. */
const stub = `#!/bin/sh
printf '%s\\0' "$MODEL_GATEWAY_API_KEY" "$ANTHROPIC_AUTH_TOKEN" "$OPENAI_API_KEY" "$@"
`

test('a shell gives each program exactly the key and the question, whatever they contain', () => {
  const bin = mkdtempSync(join(tmpdir(), 'snippets-'))
  onTestFinished(() => rmSync(bin, { recursive: true }))
  for (const program of programs) writeFileSync(join(bin, program), stub, { mode: 0o755 })
  const run = (id: ConnectClientId, key: string): readonly (readonly string[])[] =>
    connectClients[id]
      .partsOf({ ...plain, key, prompt: hostile })
      .flatMap((part) => (part.kind === 'command' ? [part.code] : []))
      .map((code) => String(execFileSync('/bin/sh', ['-c', code], { env: { PATH: bin } })).split('\0'))

  const [curl] = run('curl', plain.key)
  expect(curl?.[5]).toBe(`Authorization: Bearer ${plain.key}`)
  expect(JSON.parse(curl?.at(-2) ?? '')).toEqual({
    model: plain.model,
    messages: [{ role: 'user', content: hostile }],
  })
  const others = connectClientIds
    .filter((id) => id !== 'curl')
    .flatMap((id) => run(id, hostile).map((got) => ({ id, got })))
  expect(others).toHaveLength(12)
  for (const { id, got } of others)
    expect({ id, keys: got.slice(0, 3).filter((key) => key !== '') }).toEqual({ id, keys: [hostile] })
  for (const id of ['codex', 'claude-code'] as const) expect(run(id, hostile)[0]?.at(-2)).toBe(hostile)
})

test('files quote any text as JSON does, and nothing of it is outside of the quotes', () => {
  const connection = { ...plain, model: hostile, prompt: hostile }
  const files = connectClientIds.flatMap((id) =>
    connectClients[id].partsOf(connection).flatMap((part) => (part.kind === 'file' ? [{ id, ...part }] : [])),
  )
  for (const { id, name, code } of files) {
    if (name === 'build.gradle') continue
    expect({ id, isThere: code.includes(JSON.stringify(hostile)) }).toEqual({ id, isThere: true })
    expect(code.replaceAll(JSON.stringify(hostile), '')).not.toContain('date')
  }
})

test("Continue's configuration is YAML with one model", () => {
  const [part] = connectClients.continue.partsOf({ ...plain, model: hostile })
  expect(part?.kind === 'file' && parse(part.code)).toEqual({
    name: 'Model Gateway',
    version: '1.0.0',
    schema: 'v1',
    models: [
      {
        name: hostile,
        provider: 'openai',
        model: hostile,
        apiBase: plain.baseUrl,
        apiKey: plain.key,
        roles: ['chat', 'edit', 'apply'],
      },
    ],
  })
})
