import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Fault, faults, type Outcome } from './fault-cases.ts'

test('the table of the page is what faults.test.ts proves', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../docs/contribute/conformance.md'), 'utf8')
  expect(withoutPadding(readme)).toContain(withoutPadding(tableOf(faults)))
})

/** The formatter lines columns up. */
function withoutPadding(table: string): string {
  return table.replace(/-{3,}/g, '---').replace(/ +/g, ' ')
}

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
    '| fault | | attempts | without fallback | with a fallback |',
    '| --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
}

function said(outcome: Outcome): string {
  if ('cut' in outcome)
    return [
      `1 × \`${outcome.result}\``,
      `what came, then ${outcome.code} in the stream; prompt and delivered charged`,
      'the same',
    ].join(' | ')
  if ('answer' in outcome) {
    const charged = outcome.charged === 'usage' ? "the provider's count" : 'an estimate'
    return ['1', `the answer; ${charged} charged`, 'the same'].join(' | ')
  }
  const { tries, triesAlone = tries, result, refusal, fallback, retryAfter } = outcome
  const told = `${refusal}${retryAfter === undefined ? '' : `, Retry-After ${retryAfter}`}; nothing charged`
  const times = triesAlone === tries ? `${tries}` : `${triesAlone} without, ${tries}`
  const attempts = `${times} × \`${result}\``
  return [attempts, told, fallback === 'same' ? 'the same' : 'its answer, its price'].join(' | ')
}
