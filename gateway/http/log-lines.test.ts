import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createWriteRequestLine } from './log-lines.ts'
import type { RequestLine } from './request-end.ts'

const line: RequestLine = {
  requestId: '01a1fd32-d7cf-7cb4-b769-000000000001',
  method: 'POST',
  path: '/v1/chat/completions',
  status: 404,
  outcome: 'refused',
  code: 'model_not_found',
  stream: 'no',
  ms: 3,
  costRub: null,
  modelAsked: 'no "such"\nmodel \u{1f30d}',
  organizationId: null,
  keyId: null,
  modelRan: null,
  attempts: 0,
}

/** What a logger of this level and the quick way write of one line. */
function written(level: string) {
  const [slow, quick]: [string[], string[]] = [[], []]
  const log = pino({ name: 'model-gateway', level }, { write: (text) => slow.push(text) })
  log.info(line, 'request')
  createWriteRequestLine(log, { write: (text) => quick.push(text) })(line)
  return { slow, quick }
}

test('the line of a request equals that of pino', () => {
  const { slow, quick } = written('info')
  const [expected, got] = [slow, quick].map(([text]) => JSON.parse(text ?? ''))
  expect(got).toEqual({ ...expected, time: expect.any(Number) })
  expect(quick[0]?.indexOf('\n')).toBe((quick[0]?.length ?? 0) - 1)
})

test('a logger that is quieter than info writes none', () => {
  expect(written('warn')).toEqual({ slow: [], quick: [] })
})
