import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { writeChunk } from './chunked-body.ts'

/** Answers wait here for the test, in the order of their requests. */
const answers: ServerResponse[] = []
const server = createServer((_request, response) => {
  response.sendDate = false
  answers.push(response.writeHead(200, []))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => void server.closeAllConnections())

/** Sends `requests` over one connection and answers, once it is closed, all that came back. */
async function ask(requests: string, answer: (answers: readonly ServerResponse[]) => void): Promise<string> {
  answers.length = 0
  const count = requests.split('GET').length - 1
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(requests)
  while (answers.length < count) await once(server, 'request')
  answer(answers)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

function stream(answer: ServerResponse | undefined, first: string, ...rest: readonly string[]): void {
  if (answer === undefined) throw new Error('there is no such answer')
  answer.write(first)
  for (const text of rest) writeChunk(answer, text)
  answer.end('end')
}

const close = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

test('chunks have their length in bytes, whatever the characters, and stay in order with what http writes', async () => {
  const answer = await ask(close, ([only]) => stream(only, 'first', 'é世🌍', 'x'.repeat(20)))
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  expect(body).toBe(`5\r\nfirst\r\n9\r\né世🌍\r\n14\r\n${'x'.repeat(20)}\r\n3\r\nend\r\n0\r\n\r\n`)
})

test('a client of HTTP/1.0 gets no chunks', async () => {
  const answer = await ask('GET / HTTP/1.0\r\n\r\n', ([only]) => stream(only, 'first', 'second'))
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe('firstsecondend')
})

test('an answer written while another one has the connection comes whole and after that one', async () => {
  const both = `GET / HTTP/1.1\r\nhost: x\r\n\r\n${close}`
  const answer = await ask(both, ([first, second]) => {
    stream(second, 'c', 'd')
    stream(first, 'a', 'b')
  })
  const bodies = answer.split(/HTTP\/1\.1 200 OK\r\n/).slice(1)
  expect(bodies.map((each) => each.slice(each.indexOf('\r\n\r\n') + 4))).toEqual([
    '1\r\na\r\n1\r\nb\r\n3\r\nend\r\n0\r\n\r\n',
    '1\r\nc\r\n1\r\nd\r\n3\r\nend\r\n0\r\n\r\n',
  ])
})

test('a client that reads nothing is reported', async () => {
  await ask(close, ([only]) => {
    only?.write('first')
    expect(only && writeChunk(only, 'x'.repeat(10_000_000))).toBe(false)
    only?.destroy()
  })
})
