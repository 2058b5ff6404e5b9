import { once } from 'node:events'
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { databaseOfThisFile } from '../support/postgres.ts'
import { startTestWeb } from '../support/web.ts'

const database = await databaseOfThisFile()
const web = await startTestWeb(database)

/** What the cabinet answers to bytes that no route sees. */
async function answerTo(sent: string): Promise<{ readonly head: string; readonly body: string }> {
  const socket = connect(Number(new URL(web.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data)).on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(sent)
  await once(socket, 'close')
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { head, body }
}

test.each([
  [
    'headers that are too long',
    `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  ['a method that HTTP does not have', 'FROB / HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'malformed_request'],
  ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n', 405, 'method_not_allowed'],
  ['no HTTP at all', 'hello\r\n\r\n', 400, 'malformed_request'],
])('%s get a problem with the security headers', async (_what, sent, status, code) => {
  const { head, body } = await answerTo(sent)
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(head).toContain('content-type: application/problem+json')
  expect(head).toContain('x-content-type-options: nosniff')
  expect(JSON.parse(body)).toMatchObject({ status, code, request_id: expect.stringMatching(/-/) })
})

test.each(METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT', 'OPTIONS'].includes(method)))(
  '%s where there is no such endpoint gets a problem, too',
  async (method) => {
    const { head, body } = await answerTo(
      `${method} /api/v1/me HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    )
    expect(head).toMatch(/^HTTP\/1.1 4\d\d /)
    expect(head).toContain('content-type: application/problem+json')
    expect(head).toContain('x-content-type-options: nosniff')
    expect(JSON.parse(body)).toMatchObject({
      code: expect.any(String),
      request_id: expect.stringMatching(/-/),
    })
  },
)
