import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { argumentNames } from './script-arguments.ts'

const textOf = (file: string) => readFileSync(new URL(`${file}.lua`, import.meta.url), 'utf8')

/** `{ run_id = 2, … }` of a Lua file, by position. */
function tableIn(file: string, name: string): { readonly names: string[]; readonly positions: number[] } {
  const [, body = ''] = new RegExp(`^local ${name}_argv = \\{([^}]*)\\}`, 'm').exec(textOf(file)) ?? []
  const entries = [...body.matchAll(/(\w+) = (\d+)/g)]
  return { names: entries.map(([, key = '']) => key), positions: entries.map(([, , at]) => Number(at)) }
}

test.each([
  ['key-answer', 'key', 1],
  ['admit', 'admit', 1],
  ['admit', 'asked', 0],
  ['admit', 'candidate', 0],
  ['list', 'list', 1],
  ['settle', 'settle', 1],
  ['settle', 'charge', 0],
  ['void', 'void', 1],
  ['renew', 'renew', 1],
] as const)('%s.lua reads the arguments of %s where admission.ts writes them', (file, name, first) => {
  const names = argumentNames[name]
  expect(tableIn(file, name)).toEqual({ names, positions: names.map((_, index) => first + index) })
})

test('renew.lua takes the arguments of a renewal in the order in which admission.ts writes them', () => {
  const [, parameters] = /function renew_one\(lease_ends_ms, ([^)]*)\)/.exec(textOf('renew')) ?? []
  expect(parameters?.split(', ')).toEqual(argumentNames.renewal)
})

test('the scripts name each argument that they read', () => {
  for (const file of [
    'key-answer',
    'admit',
    'list',
    'settle',
    'void',
    'renew',
    'inspect',
    'count',
    'token-count',
  ])
    expect(textOf(file).replace(/--\[\[[\s\S]*?\]\]|--.*/g, '')).not.toMatch(/ARGV\[(?:\d|\w+ \+ \d)/)
})
