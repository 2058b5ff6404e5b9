import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { speeches } from '../conformance/fault-apis.ts'
import type { SpokenTurn } from '../support/spoken-turns.ts'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { createClaudeCode } from './claude-code.ts'
import { clientsOfThisFile } from './clients.ts'

const { serve } = await clientsOfThisFile()

const call = (id: string, name: string, given: object): SpokenTurn => ({
  thought: `I use ${name}.`,
  calls: [{ id, name, arguments: given }],
})

/** Its own names have no slash. */
const ownNames = {
  OpenAI: ['claude-opus-5', 'claude-sonnet-5'],
  Anthropic: ['claude-sonnet-4-6', 'claude-opus-5-5'],
  Gemini: ['claude-opus-4-6', 'claude-haiku-4-5'],
  Responses: ['claude-sonnet-4-5', 'claude-haiku-5'],
} as const

const everywhere = everyBackendKind.flatMap((kind) => [
  [kind, 'ANTHROPIC_AUTH_TOKEN', `openai/gpt-5.5-${kind.toLowerCase()}`] as const,
  [kind, 'ANTHROPIC_API_KEY', ownNames[kind][0]] as const,
])

describe.each(everywhere)(
  'Claude Code, with a backend of %s, %s and --model %s',
  (kind, credential, name) => {
    test('reads a file, edits it, runs a command, finds an MCP tool and continues', async () => {
      const served = await serve(
        kind,
        [
          call('toolu_read', 'Read', { file_path: 'notes.txt' }),
          call('toolu_edit', 'Edit', { file_path: 'notes.txt', old_string: 'old', new_string: 'new' }),
          call('toolu_run', 'Bash', { command: 'cat notes.txt | tr a-z A-Z', description: 'Show' }),
          call('toolu_find', 'ToolSearch', { query: 'select:mcp__weather__get_weather', max_results: 1 }),
          call('toolu_weather', 'mcp__weather__get_weather', { city: 'Kazan' }),
          { text: 'Done.' },
          { text: 'You are welcome.' },
        ],
        { name: name.includes('/') ? name : `anthropic/${name}` },
      )
      const claude = await createClaudeCode({ ...served, model: name }, credential)
      const notes = join(claude.folder, 'notes.txt')
      await writeFile(notes, 'old\n')
      const first = await claude.ask('Change the notes')
      expect([first.exitCode, first.result.result]).toEqual([0, 'Done.'])
      expect(await readFile(notes, 'utf8')).toBe('new\n')
      const second = await claude.ask('Thank you', '--continue')
      expect([second.exitCode, second.result.result]).toEqual([0, 'You are welcome.'])
      const sent = served.sent()
      expect(sent).toHaveLength(7)
      const last = JSON.stringify(sent.at(-1))
      const texts = ['NEW', 'Kazan is sunny', 'Done.', 'Thank you']
      expect(texts.filter((text) => !last.includes(text))).toEqual([])
      expect([...first.strangers, ...second.strangers]).toEqual([])
    })
  },
)

test.each(everyBackendKind)(
  'Claude Code keeps thoughts over three turns by its own names, with a backend of %s',
  async (kind) => {
    const served = await serve(
      kind,
      [
        call('toolu_1', 'Bash', { command: 'echo one', description: 'One' }),
        call('toolu_2', 'Bash', { command: 'echo two', description: 'Two' }),
        call('toolu_3', 'Bash', { command: 'echo three', description: 'Three' }),
        { text: 'Done.' },
      ],
      { name: `anthropic/${ownNames[kind][1]}` },
    )
    const claude = await createClaudeCode({ ...served, model: ownNames[kind][1] })
    const { exitCode, result } = await claude.ask('Count')
    expect([exitCode, result.result]).toEqual([0, 'Done.'])
    const sent = served.sent()
    expect(sent).toHaveLength(4)
    const last = JSON.stringify(sent.at(-1))
    expect(['one', 'two', 'three'].filter((word) => !last.includes(`${word}`))).toEqual([])
    if (kind === 'Anthropic') expect(last.match(/"type":"thinking"/g)).toHaveLength(3)
    if (kind === 'Responses') expect(last.match(/"type":"reasoning"/g)).toHaveLength(3)
    if (kind === 'Gemini') expect(last.match(/thoughtSignature/g)).toHaveLength(3)
  },
)

/** The whole context of the model would cost 300 ₽, and its longest response 192 ₽. */
const dear = { contextLength: 1_000_000, inputNano: 300_000n, outputNano: 1_500_000n }

test('what Claude Code sends reaches Anthropic byte for byte, but for model, limit and signatures, on a balance of 50 ₽', async () => {
  const turns = [
    call('toolu_1', 'Bash', { command: 'echo "Привет – 😀"', description: 'Say' }),
    { text: 'Done.' },
  ]
  const served = await serve('Anthropic', turns, {
    fields: dear,
    customer: { balanceNano: 50_000_000_000n },
  })
  const claude = await createClaudeCode(served)
  expect((await claude.ask('Say hello')).result.result).toBe('Done.')
  const asked = served.requests.flatMap(({ path }, at) =>
    path.startsWith('/v1/messages') ? [Buffer.from(served.bodies[at] ?? '', 'latin1').toString()] : [],
  )
  const received = served.sent().map((body) => JSON.stringify(body))
  expect(received).toHaveLength(2)
  expect(received.map(withoutEdits)).toEqual(asked.map(withoutEdits))
})

function withoutEdits(body: string): string {
  return body
    .replace(/"model":"[^"]+"/, '"model":""')
    .replace(/"max_tokens":\d+/, '"max_tokens":0')
    .replace(/"signature":"[^"]+"/g, '"signature":""')
}

test.each(everyBackendKind)('Claude Code runs a subagent, with a backend of %s', async (kind) => {
  const agent = { description: 'Count', prompt: 'Count to three', subagent_type: 'general-purpose' }
  const served = await serve(kind, [
    call('toolu_agent', 'Agent', agent),
    { text: 'One, two, three.' },
    { text: 'Done.' },
  ])
  const { exitCode, result } = await (await createClaudeCode(served)).ask('Let an agent count')
  expect([exitCode, result.result]).toEqual([0, 'Done.'])
  expect(JSON.stringify(served.sent().at(-1))).toContain('One, two, three.')
})

const tooLong = {
  OpenAI: 'maximum context length is 1000 tokens',
  Anthropic: 'prompt is too long: 1100 tokens > 1000 maximum',
  Gemini: 'The input token count (1100) exceeds the maximum number of tokens allowed (1000).',
  Responses: 'Your input exceeds the context window of this model.',
} as const

test.each(everyBackendKind)(
  'Claude Code shortens a conversation that is too long, and goes on, with a backend of %s',
  async (kind) => {
    const code = 'context_length_exceeded'
    const served = await serve(kind, [
      { text: 'First words.' },
      { status: 400, body: speeches[kind].errorBody({ message: tooLong[kind], code }, 400) },
      { text: '<summary>A greeting was exchanged.</summary>' },
      { text: 'Done.' },
    ])
    const claude = await createClaudeCode(served)
    expect((await claude.ask('Hello')).result.result).toBe('First words.')
    const { exitCode, result } = await claude.ask('Go on', '--continue')
    expect([exitCode, result.result]).toEqual([0, 'Done.'])
    const sent = served.requests.filter(({ method }) => method === 'POST')
    expect(sent.map(({ status }) => status)).toEqual([200, 400, 200, 200])
    expect(JSON.stringify(served.sent().at(-1))).toContain('A greeting was exchanged.')
  },
)

test('Claude Code finds the models of the gateway', async () => {
  const served = await serve('OpenAI', [{ text: 'Done.' }])
  const claude = await createClaudeCode(served, 'ANTHROPIC_AUTH_TOKEN', {
    env: { CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1' },
  })
  expect((await claude.ask('Hello')).result.result).toBe('Done.')
  const listed = served.requests.filter(({ path }) => path.startsWith('/v1/models'))
  expect(listed).toEqual([{ method: 'GET', path: '/v1/models?limit=1000', status: 200 }])
})
