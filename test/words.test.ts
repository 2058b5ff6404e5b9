import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { longSentencesOf, type Prose, proseOf, readAllowed, readProse } from './support/prose.ts'

/** What no text of ours says, and what it says instead. Code in backticks is not text. */
const banned: readonly (readonly [RegExp, string])[] = [
  [/\b(?:whoever|nobody|somebody|anybody)\b/i, 'name the actor: the client, an administrator, no one'],
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
  [/\b(?:stands|lies|lie) (?:in|within|beside|next|there|here|below|above|outside|at|on|under)\b/i, '"is"'],
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
  [/\bcharge keepers?\b|\bkept charges?\b/i, '"charge buffer", "buffered charge"'],
]

const wordsMax = 30

const prose = readProse()

test('no document, comment or message has a word that the house has banned', () => {
  const found = prose.flatMap(bannedIn)
  const counts = countByFile(found.map(({ file }) => file))
  const allowed = readAllowed(counts)
  const tooMany = Object.keys(counts).filter((file) => (counts[file] ?? 0) > (allowed[file] ?? 0))
  expect(found.filter(({ file }) => tooMany.includes(file)).map(shown)).toEqual([])
  const idle = Object.keys(allowed).filter((file) => (counts[file] ?? 0) < (allowed[file] ?? 0))
  expect(idle, 'better than allowed; keep it so: UPDATE_WORDS=1 npm run unit -- test/words.test.ts').toEqual(
    [],
  )
})

test('sentences above 30 words are few', () => {
  const long = prose.flatMap(({ file, line, text }) =>
    longSentencesOf(text, wordsMax).map((sentence) => `${file}:${line} ${sentence}`),
  )
  process.stderr.write(`${long.length} sentences above ${wordsMax} words\n`)
  expect(long.length).toBeLessThan(100)
})

test('every path of a document or comment leads to a file of the repository', () => {
  expect(deadPaths()).toEqual([])
})

test('ten planted sentences are found', () => {
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
  ]
  for (const text of planted) {
    expect(proseOf('a.ts', `/** ${text} */\nconst a = 1`).flatMap(bannedIn), text).toHaveLength(1)
    expect(proseOf('a.md', `# Title\n\n${text}`).flatMap(bannedIn), text).toHaveLength(1)
  }
  expect(proseOf('a.ts', 'const whoever = 1 // fine').flatMap(bannedIn)).toEqual([])
  expect(proseOf('a.md', 'The `whoever` field.').flatMap(bannedIn)).toEqual([])
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

function countByFile(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** Paths with a folder and an extension that name no file, as `file: path`. Patterns and placeholders are none. */
function deadPaths(): readonly string[] {
  const root = join(import.meta.dirname, '..')
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter(
      (file) =>
        /\.(?:md|tsx?|lua|tpl)$/.test(file) && !/messages\.txt|previous-release|architecture/.test(file),
    )
  const pattern =
    /(?<![\w./-])(?:core|gateway|operator|cabinet|worker|crds|standalone|release|test|charts|docs)\/[\w./-]+\.(?:tsx?|md|sql|lua|txt|sh)\b/g
  return files
    .filter((file) => existsSync(join(root, file)))
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8')
      const comments = file.endsWith('.md')
        ? source
        : source
            .split('\n')
            .filter((line) => /^\s*(?:\*|\/\*|\/\/|--)|\s\/\/ /.test(line))
            .join('\n')
      const paths = comments.match(pattern) ?? []
      return paths
        .filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, dirname(file), path)))
        .map((path) => `${file}: ${path}`)
    })
}
