import { expect, test } from 'vitest'
import { familyOf } from './model-families.ts'

test.each([
  ['gpt-4o', 'o200k_base', { kind: 'tiles', base: 85, perTile: 170 }],
  ['openai/gpt-4o-mini-2024-07-18', 'o200k_base', { kind: 'tiles', base: 2_833, perTile: 5_667 }],
  ['gpt-4.1-mini', 'o200k_base', { kind: 'patches', multiplier: 1.62 }],
  ['gpt-4.1', 'o200k_base', { kind: 'tiles', base: 85, perTile: 170 }],
  ['gpt-5', 'o200k_base', { kind: 'tiles', base: 70, perTile: 140 }],
  ['gpt-5.4', 'o200k_base', null],
  ['o3-mini', 'o200k_base', null],
  ['o3', 'o200k_base', { kind: 'tiles', base: 75, perTile: 150 }],
  ['gpt-3.5-turbo', 'cl100k_base', null],
  ['text-embedding-3-small', 'cl100k_base', null],
  ['gemini-2.5-flash', null, { kind: 'crops', perCrop: 258 }],
  ['anthropic/claude-opus-4-7', null, { kind: 'flat', tokens: 4_784 }],
])('%s: text by %s', (name, encoding, image) => {
  expect(familyOf([name])).toMatchObject({ encoding, image })
})

test('by any of its names; an unpublished model has no family', () => {
  expect(familyOf(['my-deployment', 'azure/gpt-4o'])).toMatchObject({ encoding: 'o200k_base' })
  for (const name of ['yandexgpt', 'deepseek-chat', 'my-gpt-4o']) expect(familyOf([name])).toBeUndefined()
})
