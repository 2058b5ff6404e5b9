import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Fault, faults, messagesTypes, type Outcome, responsesCodes } from './fault-cases.ts'

// Vitest's `--update` rewrites the page.
test('docs/contribute/faults.md is what faults.test.ts proves', async () => {
  const page = join(import.meta.dirname, '../../docs/contribute/faults.md')
  await expect(`${introduction}\n${tableOf(faults)}\n`).toMatchFileSnapshot(page)
})

const introduction = `# Faults of providers

Made by \`npx vitest run --config test/vitest.config.ts test/conformance/fault-table.test.ts --update\` from the cases of [\`faults.test.ts\`](../../test/conformance/faults.test.ts).

Each fault is played by providers with OpenAI's, Anthropic's and Gemini's APIs, unless the table names others. OpenAI's Responses API plays it to chats and to clients of the same API. The model has two attempts at one backend. "Without fallback" is the client's response if there is no other model. With a fallback, the client gets the fallback's response at its price, unless the table has "the same". A client of the Responses API that accepts only streams reads the errors of the column for it. A client of Messages reads errors of the types in its column. Everything else is the same for them. No error contains the provider's own text, URL or credential, except its text about the request itself. The charges in the ledger, the receipt and the response are equal.
`

function tableOf(rows: readonly Fault[]): string {
  const lines = rows.flatMap(({ name, apis, plain, stream }) => {
    const modes = Object.entries({ plain, stream }).flatMap(([mode, outcome]) =>
      outcome === undefined ? [] : [{ mode, is: said(outcome) }],
    )
    const [first, second] = modes
    const merged = first?.is === second?.is ? [{ mode: 'both', is: first?.is }] : modes
    const title = apis === undefined ? name : `${name} (${apis.join(', ')})`
    return merged.map(({ mode, is }, at) => `| ${at === 0 ? title : ''} | ${mode} | ${is} |`)
  })
  return [
    '| fault | | attempts | without fallback | in a Responses stream | in Messages | with a fallback |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
}

function said(outcome: Outcome): string {
  if ('cut' in outcome)
    return [
      `1 × \`${outcome.result}\``,
      `what came, then ${outcome.code} in the stream; prompt and delivered charged`,
      codeOf(outcome.code),
      typeOf(outcome.code),
      'the same',
    ].join(' | ')
  if ('answer' in outcome) {
    const charged = outcome.charged === 'usage' ? "the provider's count" : 'an estimate'
    return ['1', `the answer; ${charged} charged`, '', '', 'the same'].join(' | ')
  }
  const { tries, triesAlone = tries, result, refusal, fallback, retryAfter } = outcome
  const told = `${refusal}${retryAfter === undefined ? '' : `, Retry-After ${retryAfter}`}; nothing charged`
  const times = triesAlone === tries ? `${tries}` : `${triesAlone} without, ${tries}`
  const attempts = `${times} × \`${result}\``
  const other = fallback === 'same' ? 'the same' : 'its answer, its price'
  return [attempts, told, codeOf(refusal), typeOf(refusal), other].join(' | ')
}

/** Every error has its word in the Responses API, and its type in Messages. */
function codeOf(error: string): string {
  return `\`${responsesCodes[error] ?? expect.fail(error)}\``
}

function typeOf(error: string): string {
  return `\`${messagesTypes[error] ?? expect.fail(error)}\``
}
