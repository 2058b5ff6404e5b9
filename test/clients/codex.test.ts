import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SpokenTurn } from '../support/spoken-turns.ts'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { clientsOfThisFile } from './clients.ts'
import { type CodexRun, createCodex } from './codex.ts'

const { serve } = await clientsOfThisFile()

const patch = '*** Begin Patch\n*** Update File: notes.txt\n@@\n-old\n+new\n*** End Patch'
const call = (id: string, name: string, given: object): SpokenTurn => ({
  thought: `I call ${name}.`,
  calls: [{ id, name, arguments: given }],
})
const read = call('call_read', 'exec_command', { cmd: 'cat notes.txt' })
const weather = call('call_weather', 'mcp__weather__get_weather', { city: 'Kazan' })
const script = (id: string, javaScript: string) => call(id, 'functions__exec', { input: javaScript })

/** Codex knows the last part of a model's name, and gives each of these its tools in another way. */
const models: readonly (readonly [name: string, what: string, turns: readonly SpokenTurn[]])[] = [
  [
    'some-model',
    'a model that it does not know',
    [read, call('call_patch', 'exec_command', { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` }), weather],
  ],
  [
    'gpt-5.5',
    'a model that it knows',
    [
      read,
      call('call_patch', 'apply_patch', { input: patch }),
      call('call_search', 'tool_search', { query: 'weather' }),
      weather,
    ],
  ],
  [
    'gpt-6-sol',
    'one of its newest models',
    [
      script('call_read', "notify('I read.')\ntext(await tools.exec_command({ cmd: 'cat notes.txt' }))"),
      script('call_patch', `text(await tools.apply_patch(${JSON.stringify(patch)}))`),
      script('call_weather', "text(await tools.mcp__weather__get_weather({ city: 'Kazan' }))"),
    ],
  ],
]

/** Codex looks for updates and plugins there, and works without. */
const expectedStrangers = ['api.github.com:443', 'chatgpt.com:443', 'github.com:443']

function expectSuccess({ exitCode, stderr, events, strangers }: CodexRun): void {
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr, failed: events.filter(isFailure) }).toEqual({
    exitCode: 0,
    stderr: '',
    failed: [],
  })
  expect(expectedStrangers).toEqual(expect.arrayContaining([...strangers]))
}

const isFailure = ({ type }: CodexRun['events'][number]) => type === 'error' || type === 'turn.failed'

/** Its last words. */
const lastWords = ({ events }: CodexRun) =>
  events
    .map(({ item }) => item as { type?: string; text?: string } | undefined)
    .findLast((item) => item?.type === 'agent_message')?.text

/** Its own provider, and the built-in one with another URL. */
const providers = ['own', 'openai'] as const
const everywhere = everyBackendKind.flatMap((kind) =>
  models.flatMap((model) => providers.map((provider) => [kind, provider, ...model] as const)),
)

describe.each(everywhere)(
  'Codex, with a backend of %s, provider %s and %s',
  (kind, provider, name, _, turns) => {
    test('reads a file, edits it, calls an MCP tool and resumes', async () => {
      const served = await serve(kind, [...turns, { text: 'Done.' }, { text: 'You are welcome.' }], { name })
      const codex = await createCodex(served, { provider })
      await writeFile(join(codex.folder, 'notes.txt'), 'old\n')
      const first = await codex.exec('Change the notes')
      expectSuccess(first)
      expect(lastWords(first)).toBe('Done.')
      expect(await readFile(join(codex.folder, 'notes.txt'), 'utf8')).toBe('new\n')
      const second = await codex.exec('Thank you', { resume: 'last' })
      expectSuccess(second)
      expect(lastWords(second)).toBe('You are welcome.')
      const sent = served.sent()
      expect(sent).toHaveLength(turns.length + 2)
      const last = JSON.stringify(sent.at(-1))
      const said = [
        'old',
        'Kazan is sunny',
        'Done.',
        'Thank you',
        ...(name === 'gpt-6-sol' ? ['I read.'] : []),
      ]
      expect(said.filter((text) => !last.includes(text))).toEqual([])
      const asked = served.requests.filter(({ path }) => path === '/v1/responses')
      const posts = sent.map(() => ({ method: 'POST', path: '/v1/responses', status: 200 }))
      // The built-in provider tries one WebSocket in each conversation.
      const socket = { method: 'GET', path: '/v1/responses', status: 426 }
      const lastAt = posts.length - 1
      expect(asked).toEqual(
        provider === 'own' ? posts : [socket, ...posts.slice(0, lastAt), socket, ...posts.slice(lastAt)],
      )
    })
  },
)

test.each(everyBackendKind)(
  'Codex compacts a long conversation itself, with a backend of %s',
  async (kind) => {
    const turns = [
      { ...read, inputTokens: 30_000 },
      { text: 'Summary: the notes were read.' },
      { text: 'Done.' },
    ]
    const served = await serve(kind, turns)
    const codex = await createCodex(served, { settings: ['model_auto_compact_token_limit = 20000'] })
    const run = await codex.exec('Read the notes')
    expectSuccess(run)
    expect(lastWords(run)).toBe('Done.')
    const command = 'cat notes.txt'
    const [, summary, last] = served.sent().map((body) => JSON.stringify(body))
    expect([summary?.includes(command), last?.includes(command)]).toEqual([true, false])
    expect(last?.includes('Summary: the notes were read.')).toBe(true)
  },
)

test('Codex with another URL for OpenAI has its conversation compacted by a backend of OpenAI', async () => {
  const turns = [{ ...read, inputTokens: 30_000 }, {}, { text: 'Done.' }]
  const served = await serve('Responses', turns, { name: 'gpt-5.5' })
  const codex = await createCodex(served, {
    provider: 'openai',
    settings: ['model_auto_compact_token_limit = 20000'],
  })
  const run = await codex.exec('Read the notes')
  expectSuccess(run)
  expect(lastWords(run)).toBe('Done.')
  const [, trigger, last] = served.sent().map(({ input }) => input as readonly { readonly type: string }[])
  expect(trigger?.at(-1)?.type).toBe('compaction_trigger')
  expect(last?.map(({ type }) => type)).toContain('compaction')
  expect(JSON.stringify(last)).not.toContain('cat notes.txt')
})
