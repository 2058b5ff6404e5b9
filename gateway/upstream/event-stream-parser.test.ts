import { describe, expect, test } from 'vitest'
import {
  createEventStreamParser,
  EventTooLong,
  eventLengthMax,
  eventLinesMax,
} from './event-stream-parser.ts'

function parserOf(onData: (data: string) => unknown, onBareJson: (text: string) => unknown = () => {}) {
  return createEventStreamParser({
    onData: (data) => (onData(data) === 'silence' ? 'silence' : 'something'),
    onBareJson: (text) => void onBareJson(text),
  })
}

function eventsOf(pieces: readonly Buffer[]): string[] {
  const events: string[] = []
  const parser = parserOf((data) => events.push(data))
  for (const piece of pieces) parser.push(piece)
  parser.end()
  return events
}

const bodies: readonly [guarantee: string, body: string, events: readonly string[]][] = [
  ['one event', 'data: a\n\n', ['a']],
  ['only one space after the colon is taken away', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
  ['the last line of an event is joined to those that came before it', 'data: a\ndata: b\n\n', ['a\nb']],
  ['a line that was cut before what looks like data is one line', 'data: a\n\nxdata: b\n\n', ['a']],
  ['a carriage return within a line ends it', 'data: a\n\ndata: b\rc\n\n', ['a', 'b']],
  ['an event of an empty line of data is left out', 'data: a\n\ndata: \n\n', ['a']],
  ['lines of one event are joined', 'data: a\ndata: b\ndata\ndata:\n\n', ['a\nb\n\n']],
  [
    'comments, names, ids and foreign fields are left out',
    ': hi\n\nevent: x\nid: 1\nretry: 5\ndata: a\nfoo: b\ndatax: c\n\n',
    ['a'],
  ],
  ['events without data are left out', 'event: ping\n\ndata\n\n\n\n', []],
  [
    'carriage returns end lines too',
    'data: a\r\rdata: b\r\n\r\ndata: c\n\r\ndata: d\r\n\n',
    ['a', 'b', 'c', 'd'],
  ],
  ['both ends together are one end', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n', ['a\nb', 'c']],
  ['a byte order mark is skipped, once', '\uFEFFdata: \uFEFFa\n\n', ['\uFEFFa']],
  ['characters of two, three and four bytes stay whole', 'data: é世🌍\n\n', ['é世🌍']],
  [
    'an event whose blank line is missing still counts when the body ended well',
    'data: a\n\ndata: b',
    ['a', 'b'],
  ],
]

describe.each(bodies)('%s', (_guarantee, body, events) => {
  test('however the bytes are cut', () => {
    const bytes = Buffer.from(body)
    expect(eventsOf([bytes])).toEqual(events)
    expect(eventsOf([...bytes].map((byte) => Buffer.of(byte)))).toEqual(events)
    for (let at = 0; at <= bytes.length; at += 1)
      expect(eventsOf([bytes.subarray(0, at), Buffer.alloc(0), bytes.subarray(at)]), `cut at ${at}`).toEqual(
        events,
      )
  })
})

test.each<[string, string, string]>([
  ['an event', 'data: a\n\n', 'something'],
  ['an event behind a comment', ': hi\n\ndata: a\n\n', 'something'],
  ['a part of one, which may be long', 'data: {"b64":"aaa', 'something'],
  ['a line of one', 'data: a\n', 'something'],
  ['a comment', ': OPENROUTER PROCESSING\n\n', 'silence'],
  ['a part of a comment', ': OPENROU', 'silence'],
  ['blank lines', '\n\r\n', 'silence'],
  ['an event without data', 'event: ping\ndata:\n\n', 'silence'],
])('of clocks, %s (%j) is heard as %s', (_what, text, heard) => {
  for (const before of ['', ': hi\n\n', 'data: a\n\n']) {
    const parser = parserOf(() => {})
    parser.push(Buffer.from(before))
    expect(parser.push(Buffer.from(text))).toBe(heard)
  }
})

test('a comment that comes in single bytes is silence, also within an event that has begun', () => {
  const parser = parserOf(() => {})
  expect(parser.push(Buffer.from('data: a\n'))).toBe('something')
  for (const byte of Buffer.from(': data: b\n: c\n')) expect(parser.push(Buffer.of(byte))).toBe('silence')
})

test('an event as large as a picture of 4K passes, in the reads that it comes in', () => {
  const read = Buffer.alloc(64 * 1024, 'a')
  const reads = 384
  const lengths: number[] = []
  const parser = parserOf((data) => lengths.push(data.length))
  parser.push(Buffer.from('data: '))
  for (let sent = 0; sent < reads; sent += 1) parser.push(read)
  parser.push(Buffer.from('\n\n'))
  expect(lengths).toEqual([reads * read.length])
})

test('an event beyond the bound is refused, in one line or in many, before it is kept', () => {
  const mebibyte = Buffer.alloc(1024 * 1024, 'a')
  const oneLine = parserOf(() => {})
  oneLine.push(Buffer.from('data: '))
  expect(() => {
    for (let sent = 0; sent <= eventLengthMax; sent += mebibyte.length) oneLine.push(mebibyte)
  }).toThrow(EventTooLong)

  const manyLines = parserOf(() => {})
  expect(() => {
    for (let sent = 0; sent <= eventLengthMax; sent += mebibyte.length)
      manyLines.push(Buffer.concat([Buffer.from('data: '), mebibyte, Buffer.from('\n')]))
  }).toThrow(EventTooLong)
})

test.each([
  ['lines of data', 'data:\n'],
  ['comments', ':\n'],
  ['blank lines', '\n'],
])(
  'too many %s are refused, however little they say; those before another event do not count',
  (_what, line) => {
    let events = 0
    const parser = parserOf(() => {
      events += 1
    })
    const almostAll = Buffer.from(line.repeat(eventLinesMax - 2))
    for (let sent = 0; sent < 3; sent += 1) {
      parser.push(almostAll)
      parser.push(Buffer.from('data: a\n\n'))
    }
    expect(events).toBe(3)
    parser.push(almostAll)
    expect(() => parser.push(Buffer.from(line.repeat(3)))).toThrow(EventTooLong)
  },
)

test('an event that the caller took itself ends the count of lines, too', () => {
  const parser = parserOf(() => undefined)
  for (let taken = 0; taken < eventLinesMax; taken += 1) {
    parser.push(Buffer.from(': wait\n\n'))
    parser.passOver()
  }
  expect(parser.isBetweenEvents()).toBe(true)
})

test('many short lines take time in their number, also with one carriage return far behind them', () => {
  const lines = 'data: x\n\n'.repeat(100_000)
  const msOf = (text: string) => {
    const bytes = Buffer.from(text)
    const before = process.threadCpuUsage()
    parserOf(() => undefined).push(bytes)
    return process.threadCpuUsage(before).user / 1000
  }
  msOf(lines) // warm
  expect(msOf(`${lines}: end\r`)).toBeLessThan(20 * msOf(lines) + 50)
})

test('what arrives before the end of an event is handed over at once', () => {
  const events: string[] = []
  const parser = parserOf((data) => events.push(data))
  parser.push(Buffer.from('data: a\n\nda'))
  expect(events).toEqual(['a'])
  parser.push(Buffer.from('ta: b\r\n\r'))
  expect(events).toEqual(['a', 'b'])
})

test('only where everything so far was whole events does the next byte begin one', () => {
  const parser = parserOf(() => {})
  const after = (bytes: string | Buffer) => {
    parser.push(Buffer.from(bytes))
    return parser.isBetweenEvents()
  }
  expect(parser.isBetweenEvents()).toBe(false) // a byte order mark may come
  expect(after('data: a\n\n')).toBe(true)
  expect(after('data: a')).toBe(false)
  expect(after('\n')).toBe(false)
  expect(after('\n')).toBe(true)
  expect(after(': comment')).toBe(false)
  expect(after('\r')).toBe(false) // a line feed may belong to it
  expect(after('data: b\n\n')).toBe(true)
  expect(after(Buffer.of(0xd1))).toBe(false)
})

describe('JSON without the frame of an event', () => {
  const error = '{\n  "error": {\n    "code": 429\n  }\n}\n'

  test.each([
    ['behind an event', `data: a\n\n${error}`],
    ['as all there is', error],
    ['before an event', `${error}\ndata: a\n\n`],
    ['in one line', `data: a\n\n${JSON.stringify(JSON.parse(error))}`],
    ['in a list', `data: a\n\n[${error}]`],
  ])('is found %s, however the bytes are cut', (_name, body) => {
    for (const size of [1, 2, 7, body.length]) {
      const found: unknown[] = []
      const parser = parserOf(
        () => {},
        (text) => found.push([JSON.parse(text)].flat()[0]),
      )
      const bytes = Buffer.from(body)
      for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size))
      parser.end()
      expect(found, `${size} at a time`).toEqual([JSON.parse(error)])
    }
  })

  test('is kept up to a bound', () => {
    const found: string[] = []
    const parser = parserOf(
      () => {},
      (text) => found.push(text),
    )
    parser.push(Buffer.from('{\n'))
    for (let n = 0; n < 10_000; n += 1) parser.push(Buffer.from(`"${n}": "a line of some length",\n`))
    parser.end()
    expect(found[0]?.length).toBeLessThan(66_000)
  })
})

test('a read of events without content is silence, unless others are in it', () => {
  const parser = parserOf((data) => (data === 'ping' ? 'silence' : undefined))
  const push = (text: string) => parser.push(Buffer.from(text))
  expect(push('event: ping\ndata: ping\n\n')).toBe('silence')
  expect(push('data: ping\n\n')).toBe('silence')
  expect(push('data: ping\n\ndata: a\n\ndata: ping\n\n')).toBe('something')
  expect(push('data: ping\n\ndata: b\n')).toBe('something')
})
