import { describe, expect, test } from 'vitest'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'

const { createKey, send, logged } = await loneGatewayOfThisFile()
const { key } = await createKey()
const origin = 'https://app.example'
const chat = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hi' }] }

/** What the official SDK asks for from a page. */
const asked =
  'authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-os,x-stainless-package-version,x-stainless-retry-count,x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout'

function preflight(path: string, headers: Readonly<Record<string, string>> = {}) {
  const wished = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked }
  return send({ method: 'OPTIONS', path, headers: { ...wished, ...headers } })
}

describe('a page of another origin', () => {
  test('may ask with the headers of its SDK, anywhere, so that it gets to read what is wrong', async () => {
    for (const path of [
      '/v1/chat/completions',
      '/v1/models/demo%2Fecho',
      '/v1/requests/x',
      '/v1/responses',
    ]) {
      const { status, headers, text } = await preflight(path)
      expect([status, text], path).toEqual([204, ''])
      expect(headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': asked,
        'access-control-max-age': '7200',
        'x-request-id': expect.any(String),
      })
      expect(headers).not.toHaveProperty('access-control-allow-credentials')
      expect(headers).not.toHaveProperty('content-length')
    }
  })

  test('learns of no header that is none, or of too many', async () => {
    for (const names of ['a;b', 'é', `${'x'.repeat(4000)},y`.repeat(2)]) {
      const { status, headers } = await preflight('/v1/models', { 'access-control-request-headers': names })
      expect(status).toBe(204)
      expect(headers).not.toHaveProperty('access-control-allow-headers')
    }
  })

  test('reads every answer with its headers: errors, streams, non-streaming answers, models', async () => {
    const stream = JSON.stringify({ ...chat, stream: true })
    for (const [sent, status] of [
      [{ body: JSON.stringify(chat), key }, 200],
      [{ body: stream, key }, 200],
      [{ path: '/v1/models', method: 'GET', key }, 200],
      [{ path: '/v1/key', method: 'GET', key }, 200],
      [{ body: '{', key }, 400],
      [{ body: JSON.stringify(chat) }, 401],
      [{ path: '/v1/responses/resp_1', key }, 405],
      [{ method: 'DELETE', key }, 405],
    ] as const) {
      const answer = await send({ ...sent, headers: { origin } })
      expect(answer.status).toBe(status)
      expect(answer.headers, String(status)).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': '*',
      })
    }
  })

  test('preflight is not logged at info: any caller can send one', async () => {
    logged.length = 0
    await preflight('/v1/models')
    await send({ body: JSON.stringify(chat), key })
    await expect.poll(() => logged).toMatchObject([{ status: 200 }])
  })
})

test('a caller that is no page gets nothing of it, and OPTIONS that ask for nothing are 405', async () => {
  for (const sent of [{ body: JSON.stringify(chat), key }, { body: '{' }, { method: 'OPTIONS' }]) {
    const { headers } = await send(sent)
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
  }
  expect((await send({ method: 'OPTIONS', headers: { origin } })).status).toBe(405)
})
