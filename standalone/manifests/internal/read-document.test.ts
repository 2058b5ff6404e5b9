import { expect, test } from 'vitest'
import { lineOfField, readDocument, splitDocuments } from './read-document.ts'

const key = `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci}
spec:
  organization: acme
`

test('a document becomes its resource, with the line on which it begins', () => {
  expect(readDocument(`---\n# a comment\n\n${key}`)).toMatchObject({
    kind: 'resource',
    line: 4,
    resource: { kind: 'ApiKey', metadata: { name: 'ci' }, spec: { organization: 'acme', suspend: false } },
  })
  expect(readDocument('# nothing\n')).toEqual({ kind: 'empty' })
  expect(readDocument('---\n')).toEqual({ kind: 'empty' })
})

test.each([
  [
    'a wrong value',
    `${key}  limits:\n    requestsPerMinute: 5\n    dailyBudgetRub: 2.5\n`,
    8,
    'ApiKey "ci"',
    /^spec\.limits\.dailyBudgetRub: must be a quoted amount of rubles/,
    ['ApiKey ci'],
  ],
  [
    'a misspelt field',
    `${key}  limits: {}\n  suspended: true\n`,
    7,
    'ApiKey "ci"',
    /^spec: Unrecognized key: "suspended"$/,
    ['ApiKey ci'],
  ],
  [
    'a missing field',
    key.replace('  organization: acme', '  suspend: true'),
    4,
    'ApiKey "ci"',
    /^spec\.organization: /,
    ['ApiKey ci'],
  ],
  [
    'a bad item of a list',
    `${key}  allowedModels:\n    - a/b\n    - nope\n`,
    8,
    'ApiKey "ci"',
    /^spec\.allowedModels\.1: /,
    ['ApiKey ci'],
  ],
  ['no YAML', `${key}  x: [1\n`, 7, 'the document', /flow/i, null],
  ['a name twice', `${key}  organization: other\n`, 6, 'the document', /unique/, null],
  [
    'another kind',
    key.replace('ApiKey', 'Deployment'),
    1,
    'Deployment "ci"',
    /^is not one of the supported kinds: modelgateway\.dev\/v1alpha1 ApiKey, /,
    ['ApiKey ci', 'ModelProvider ci', 'ModelRoute ci'],
  ],
  [
    'an older version',
    key.replace('v1alpha1', 'v1'),
    1,
    'ApiKey "ci"',
    /not one of the supported kinds/,
    ['ApiKey ci'],
  ],
  ['a list', '- 1\n', 1, 'the document', /not one of the supported kinds/, []],
  [
    'a bomb of aliases',
    `a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c]\n`,
    1,
    'the document',
    /alias/i,
    null,
  ],
  [
    'a Secret that is not base64',
    'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  k: "?"\n',
    5,
    'Secret "s"',
    /^data\.k: must be base64$/,
    [],
  ],
])('%s is named with its line, why, and what it may be about', (_what, text, line, what, reason, about) => {
  expect(readDocument(text)).toEqual({
    kind: 'problem',
    line,
    what,
    reason: expect.stringMatching(reason),
    about,
  })
})

test('a file is cut at every --- that begins a line, and nowhere else', () => {
  const text = 'a: 1\n--- # next\nb: |\n  ---\n  x\n---\nc: 3'
  expect(splitDocuments(text)).toEqual([
    { text: 'a: 1', linesBefore: 0 },
    { text: '--- # next\nb: |\n  ---\n  x', linesBefore: 1 },
    { text: '---\nc: 3', linesBefore: 5 },
  ])
})

test('a field is found by its path, or the deepest part of it that is there', () => {
  const text = 'a:\n  b:\n    - c: 1\n      d: 2\n'
  expect(lineOfField(text, ['a', 'b', 0, 'd'])).toBe(4)
  expect(lineOfField(text, ['a', 'b', 0, 'z', 'y'])).toBe(3)
  expect(lineOfField(text, ['z'])).toBe(1)
})
