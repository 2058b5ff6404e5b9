import { expect, test } from 'vitest'
import type { SpokenTurn } from '../support/spoken-turns.ts'
import { everyBackendKind } from '../support/spoken-turns.ts'
import { clientsOfThisFile, runProgram } from './clients.ts'

const { serve } = await clientsOfThisFile()

const place = { place: 'Kazan', people: 1_300_000 }
const call = (id: string) => ({ id, name: 'get_weather', arguments: { city: 'Kazan' } })
const turns: readonly SpokenTurn[] = [
  { text: 'I look.', calls: [call('call_1')] },
  { text: 'It is sunny.' },
  { text: JSON.stringify(place) },
  { text: 'I look.', calls: [call('call_2')] },
]

test.each(everyBackendKind)(
  'LangChain runs a tool, reads an object and a stream, with a backend of %s',
  async (kind) => {
    const served = await serve(kind, turns)
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    expect(await runProgram('langchain_python.py', served)).toMatchObject({
      text: 'It is sunny.',
      cities: ['Kazan'],
      place,
      usage,
      streamedCalls: [{ city: 'Kazan' }],
      streamedUsage: usage,
    })
    expect(JSON.stringify(served.sent()[1])).toContain('Sunny')
    expect(served.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  },
)
