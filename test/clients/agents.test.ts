import { describe, expect, test } from 'vitest'
import type { SpokenTurn } from '../support/spoken-turns.ts'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { clientsOfThisFile, runProgram } from './clients.ts'

const { serve } = await clientsOfThisFile()

const turns: readonly SpokenTurn[] = [
  { calls: [{ id: 'call_1', name: 'transfer_to_expert', arguments: {} }] },
  { text: 'I look.', calls: [{ id: 'call_2', name: 'get_weather', arguments: { city: 'Kazan' } }] },
  { text: 'It is sunny.' },
  { text: 'Tomorrow, too.' },
]

const programs = { Node: 'agents-node.mjs', Python: 'agents_python.py' } as const
const ways = ['whole', 'streamed'] as const
const cases = everyBackendKind.flatMap((kind) =>
  (['Node', 'Python'] as const).flatMap((language) => ways.map((way) => [language, way, kind] as const)),
)

describe.each(cases)('Agents SDK for %s, %s, with a backend of %s', (language, way, kind) => {
  test('hands over to an agent that calls a function, and goes on', async () => {
    const served = await serve(kind, turns)
    const result = await runProgram(programs[language], served, { WAY: way })
    expect(result).toMatchObject({
      text: 'It is sunny.',
      agent: 'expert',
      cities: ['Kazan'],
      next: 'Tomorrow, too.',
    })
    expect(result.streamed).toContain('It is sunny.')
    const sent = served.sent().map((body) => JSON.stringify(body))
    expect(sent).toHaveLength(4)
    expect(sent[1]).toContain('You know the weather.')
    expect(sent[3]).toContain('Sunny')
    expect(served.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})
