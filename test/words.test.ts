import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deadPathsOf, repositoryFiles } from './support/paths.ts'
import { longSentencesOf, type Prose, proseOf, readProse } from './support/prose.ts'

/** Banned words, and what to write instead. Code in backticks is not text. */
const banned: readonly (readonly [RegExp, string])[] = [
  [/\b(?:whoever|nobody|somebody|anybody|everybody)\b/i, 'name the actor: the client, an administrator'],
  [/\b(?:be|is|are|was|were) had\b/i, '"available"'],
  [/\bbeside\b/i, '"next to", "besides", "in addition to"'],
  [/\banew\b/i, '"again"'],
  [/\bmeanwhile\b/i, '"in the meantime", or nothing'],
  [/\b(?:has|have|had) to be\b/i, '"must be"'],
  [/\bfor life\b/i, '"permanent"'],
  [/\bby hand\b/i, '"manually"'],
  [
    /\bof (?:its|their|our|your|his) own\b|\bof (?:ours|yours|theirs)\b/i,
    'a possessive: "its own", "your own"',
  ],
  [/\bwhat else\b/i, '"anything but", "other than"'],
  [/\blie (?:in|within|next|there|here|below|above|outside|at|on|under)\b/i, '"is"'],
  [/\b(?:tells?|told|says|said)\b/i, 'software reports, returns, states, logs; a person says'],
  [/\b(?:heals?|shut shards?)\b/i, '"recovers", "unavailable"'],
  [/\bdear(?:er|est)\b/i, '"more expensive", "most expensive"'],
  [/\b(?:task|something|work) failed\b/i, 'what could not be done'],
  [/\b(?:catalogues?|rou?bles? of)\b(?<!rubles? of)|\broubles?\b/i, '"catalog", "ruble"'],
  [/\btill\b|\bplay money\b/i, '"test payment provider", "test money"; "until"'],
  [/\b(?:dialects?|quirks)\b/i, '"provider adapter", "compatibility profile"'],
  [/\bverdicts?\b/i, '"evaluation", "condition"'],
  [/\balarms?\b/i, '"alert"'],
  [/\btelephones?\b/i, '"mobile"'],
  [/\bmade person\b|\bmade people\b/i, '"seeded user"'],
  [/\blooks? at the books\b|\bthe books\b/i, '"incremental audit", "the ledger"'],
  [/\bupkeep\b/i, '"maintenance"'],
  [/\bkey-days?\b/i, '"daily key spend"'],
  [/\bdepartures?\b/i, '"client disconnect"'],
  [/\bhalf a session\b/i, '"pending-MFA session"'],
  [/\bdocuments of law\b/i, '"legal documents"'],
  [/(?<!\bneither\b[^.]*)\bnor\b/i, '"or", or another sentence'],
  [/(?<!\b(?:let|leave|leaves|left|run|runs) )\balone\b/i, '"only"'],
  [/\bmend(?:s|ed|ing)?\b/i, '"reconcile", "fix"'],
  [/\b(?:un)?seal(?:s|ed|ing)?\b/i, '"encrypt", "decrypt"'],
  [
    /(?<!(?:case|Latin|English|Cyrillic|first|last|capital) )\bletters?\b(?!,? (?:and |or )?(?:a )?(?:digit|number|space))/i,
    '"email"',
  ],
  [/\bcircles?\b/i, '"cycle"'],
  [/\b(?:troubles?|wish(?:es)?|news)\b/i, '"failure reason", "desired state", "change"'],
  [/\bgather(?:s|ed|ing)?\b/i, '"fetch", "collect"'],
  [/(?<!in )\bdoubt(?:s|ed|ful)?\b/i, '"unverified"'],
  [/\bat fault\b/i, '"the problem", "the cause"'],
  [/\bbook(?:s|ed|ing|ings)?\b/i, '"post", "the ledger"'],
  [/\b(?:stands|lies)\b(?! (?:for|by|ahead)\b)/i, '"is"'],
  [/\b(?:is|are|stays?|was|were|ever|be) away\b/i, '"unavailable", "down"'],
  [/\bplain answers?\b/i, '"non-streaming response"'],
  [/\binternal rooms?\b|\bno face\b|\bthe door\b/i, '"internal files", "public interface"'],
  [/\bfor ever\b/i, '"forever", "permanent"'],
  [/(?:^|[.;:*] |- )What (?:was|were|is|are|has|had|lies|comes)\b[^?]*$/, 'a noun'],
  [/\bof what (?:was|were|is|are)\b/, 'a noun'],
  [/\bcharge keepers?\b|\bkept charges?\b/i, '"charge buffer", "buffered charge"'],
]

const root = join(import.meta.dirname, '..')
const wordsMax = 30

const prose = readProse()

test('no document, comment, message or test name has a banned word', () => {
  expect(prose.flatMap(bannedIn).map(shown)).toEqual([])
})

test('no sentence has more than 30 words', () => {
  const long = prose.flatMap(({ file, line, text }) =>
    longSentencesOf(text, wordsMax).map((sentence) => `${file}:${line} ${sentence}`),
  )
  expect(long).toEqual([])
})

/** Mentioned files that are not in the repository, and where they are. */
const elsewhere: Readonly<Record<string, string>> = {
  'core/keys/internal/x.ts': 'an example',
  'helm.sh': 'a prefix of labels',
  'KIND-YYYY-MM-DD.LOCALE.md': 'a pattern',
  'migrations/NNNN-name.sql': 'a pattern',
  'model-gateway-secrets.yaml': 'of the operator of an installation',
  'model.py': 'of a model’s own repository',
  'models.yaml': 'of the operator of an installation',
  'routes.yaml': 'an example',
  'secrets.json': 'in a data folder',
  'test/browser/screenshots/': 'written by `npm run screenshots`',
  'tools/server/README.md': 'of llama.cpp',
  'vllm/entrypoints/utils.py': 'of vLLM',
  'x.fixture.ts': 'an example',
  'z.json': 'a function of zod',
}

test('every path of a document or comment leads to a file of the repository', () => {
  const files = repositoryFiles()
  const dead = files
    .filter((file) => /\.(?:md|tsx?|lua|sql|ya?ml|tpl|sh|py)$/.test(file))
    // Migrations are never edited.
    .filter((file) => !/previous-release|^core\/db\/migrations\//.test(file))
    .flatMap((file) =>
      deadPathsOf(file, readFileSync(join(root, file), 'utf8'), files).map((path) => ({ file, path })),
    )
  expect(dead.filter(({ path }) => !(path in elsewhere))).toEqual([])
  const mentioned = new Set(dead.map(({ path }) => path))
  expect(Object.keys(elsewhere).filter((path) => !mentioned.has(path))).toEqual([])
})

test('planted dead paths are found, from the root, from a file and of a module', () => {
  const files = ['core/db/pool.ts', 'gateway/requests/json-body.ts']
  const text =
    'See `core/db/gone.ts`, `http/json-body.ts`, `contract.md`, `core/gone` and `requests/json-body.ts`.'
  const dead = ['core/db/gone.ts', 'http/json-body.ts', 'contract.md', 'core/gone']
  expect(deadPathsOf('gateway/wire/a.md', text, files)).toEqual(dead)
  expect(deadPathsOf('gateway/wire/a.ts', `/** ${text} */`, files)).toEqual(dead)
  expect(deadPathsOf('core/db/a.sql', `-- ${text}`, files)).toEqual(dead)
  expect(deadPathsOf('charts/a.yaml', `# ${text}`, files)).toEqual(dead)
  expect(deadPathsOf('gateway/wire/a.ts', `const a = '${text}'`, files)).toEqual([])
})

test('planted sentences are found', () => {
  const planted = [
    'Whoever sends a cookie is checked.',
    'No text stands in a component.',
    'The chart tells the ingress its addresses.',
    'A gateway with stores of its own.',
    'The key has to be rotated.',
    'The dearest model wins.',
    'It begins anew.',
    'Keys are made by hand.',
    'The catalogue is empty.',
    'The worker heals by itself.',
    'A letter is sent to the owner.',
    'It is not sent, nor is it kept.',
    'Read by the worker alone.',
    'The job mends the sums.',
    'The operator seals credentials.',
    'The name of everybody.',
    'What was charged is in the ledger.',
    'A worker books the charge.',
  ]
  for (const text of planted) {
    expect(proseOf('a.ts', `/** ${text} */\nconst a = 1`).flatMap(bannedIn), text).toHaveLength(1)
    expect(proseOf('a.md', `# Title\n\n${text}`).flatMap(bannedIn), text).toHaveLength(1)
  }
  const found = [
    proseOf('a.test.ts', "test.each([1])('%s of whoever', () => {})"),
    proseOf('core/db/functions/a.sql', '-- Of whoever.\nCREATE FUNCTION a -- whoever'),
    proseOf('cabinet/web/openapi.json', '  "description": "For whoever."'),
  ]
  expect(found.map((prose) => prose.flatMap(bannedIn).length)).toEqual([1, 1, 1])
  const fine = [
    proseOf('a.ts', 'const whoever = 1 // fine'),
    proseOf('a.md', 'The `whoever` field.'),
    proseOf(
      'a.md',
      'Lower-case letters and digits, neither more nor less. What is a key? It stands for all.',
    ),
  ]
  expect(fine.flat().flatMap(bannedIn)).toEqual([])
  expect(longSentencesOf(`${'word '.repeat(wordsMax + 1)}. Short.`, wordsMax)).toHaveLength(1)
})

type Found = Prose & { readonly word: string; readonly instead: string }

function bannedIn(one: Prose): readonly Found[] {
  return banned.flatMap(([pattern, instead]) => {
    const word = pattern.exec(one.text)?.[0]
    return word === undefined ? [] : [{ ...one, word, instead }]
  })
}

const shown = ({ file, line, word, instead }: Found) => `${file}:${line} "${word}" → ${instead}`
