import { describe, expect, test } from 'vitest'
import { createDialect } from '../upstream/dialect.ts'
import { planAttempts } from './attempt-plan.ts'
import type { Backend, Route } from './route-table.ts'

const provider = { name: 'p', api: 'OpenAI', baseUrl: 'http://127.0.0.1', headers: {} } as const
const dialect = createDialect(provider, 'm', {
  model: 'a/m',
  type: 'chat',
  parameters: { drop: [], rename: {}, defaults: {} },
  maxOutputTokens: null,
})

function backend(name: string, priority: number, weight: number): Backend {
  return { name, provider, dialect, priority, weight }
}

function route(model: string, attempts: number, backends: readonly Backend[]): Route {
  const document = {
    model,
    type: 'chat',
    displayName: model,
    description: '',
    createdAtS: 0,
    contextLength: null,
    maxOutputTokens: null,
    defaultOutputTokens: 4096,
    backends: [],
    fallbacks: [],
    timeouts: { requestMs: 1, firstByteMs: 1, streamIdleMs: 1 },
    attempts,
    parameters: { drop: [], rename: {}, defaults: {} },
    price: null,
    organizations: null,
  } as const
  return {
    backends,
    document: {
      ...document,
      backends: [],
      fallbacks: [],
      parameters: { drop: [], rename: {}, defaults: {} },
    },
  }
}

const names = (routes: readonly Route[], random: () => number) =>
  planAttempts(routes, random).map((target) => target.backend.name)

describe('the order of attempts', () => {
  test('is by priority, whatever the weights, and each model gets its attempts before its fallback', () => {
    const main = route('a/main', 3, [backend('spare', 1, 100), backend('first', 0, 1)])
    const fallback = route('a/older', 1, [backend('older', 0, 1)])
    expect(names([main, fallback], Math.random)).toEqual(['first', 'spare', 'first', 'older'])
  })

  test('shares one priority by weight', () => {
    const shared = route('a/b', 1, [backend('heavy', 0, 80), backend('light', 0, 20), backend('off', 0, 0)])
    const counts = { heavy: 0, light: 0, off: 0 }
    let seed = 1
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    for (let n = 0; n < 10_000; n++)
      for (const name of names([shared], random)) counts[name as keyof typeof counts] += 1
    expect(counts.heavy).toBeGreaterThan(7_800)
    expect(counts.heavy).toBeLessThan(8_200)
    expect(counts.off).toBe(0)
  })

  test('is empty for a model whose backends could not be read', () => {
    expect(names([route('a/b', 3, [])], Math.random)).toEqual([])
  })
})
