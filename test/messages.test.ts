import { expect, test } from 'vitest'
import { catalogOf, messagesOf, readMessages, readReviewedCatalog } from './support/read-messages.ts'

const files = readMessages()

test('every text that a person outside may read is in test/messages.txt, where its change is seen', () => {
  const actual = catalogOf(files)
  expect(
    actual,
    'Review the change, then: UPDATE_MESSAGES=1 npx vitest run --config test/vitest.config.ts --project unit test/messages.test.ts',
  ).toBe(readReviewedCatalog(actual))
})

test('of code, the catalog takes the texts that a person reads, and leaves SQL, CEL, wire formats and quotations', () => {
  const taken = messagesOf(
    'sample.ts',
    `import { Pool } from '#cabinet/db'
    type Level = 'read committed'
    throw new Error('no more ' + (count + 1) + " than" + \` \${max} keys\`)
    refuse(\`\${name} is \${isLate ? 'too late' : 'fine'}\nRetry in \${seconds} s.\`)
    await client.query('select from model_routes', ['not shown either'])
    const where = 'k.revoked_at is null'
    ruled(name, [{ cel: 'self != "a b"', message: 'must be a name, such as "a"' }])
    const headers = { authorization: \`Bearer \${key}\`, accept: 'text/plain' }
    const isTaken = error.message.includes('could not bind') || code === 'EADDRINUSE'`,
  )
  expect(taken).toEqual([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: so the catalog shows an expression
    'no more ${count + 1} than ${max} keys',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: so the catalog shows an expression
    "${name} is ${isLate ? 'too late' : 'fine'}\\nRetry in ${seconds} s.",
    'too late',
    'must be a name, such as "a"',
  ])
})

test('of a manifest, the catalog takes the messages of its admission policies', () => {
  const taken = messagesOf(
    'sample.yaml',
    [
      'validations:',
      "  - expression: object.metadata.name != 'a b'",
      '    message: >-',
      '      names have',
      '      at most 63 characters',
      '---',
      "messageExpression: object.metadata.name + ' is taken'",
    ].join('\n'),
  )
  expect(taken).toEqual(['names have at most 63 characters', "object.metadata.name + ' is taken'"])
})

test('of SQL, the catalog takes what it raises', () => {
  const taken = messagesOf(
    'sample.sql',
    `select 'not shown' as text;
    raise exception 'charge % isn''t known', bad using errcode = 'invalid_parameter_value';
    raise warning
      'partition % cannot be made: %', partition, sqlerrm;`,
  )
  expect(taken).toEqual(["charge % isn't known", 'partition % cannot be made: %'])
})
