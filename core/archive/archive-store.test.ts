import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openArchive } from './archive-store.ts'

const row = z.object({ n: z.string() })

/** An archive whose server responds like this. */
async function archiveThat(respond: RequestListener, timeoutMs = 10_000, onError?: (error: Error) => void) {
  const server = createServer(respond).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const store = openArchive(`http://default@127.0.0.1:${port}/test`, {
    timeoutMs,
    ...(onError === undefined ? {} : { onError }),
  })
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await store.close()
  })
  return store
}

test('a query that failed after its first rows is a failure, although its status is 200', async () => {
  const exception = 'Code: 159. DB::Exception: Timeout exceeded: a secret. (TIMEOUT_EXCEEDED)'
  const logged: string[] = []
  const respond: RequestListener = (_request, response) => {
    response.end(JSON.stringify({ data: [{ n: '1' }], exception }))
  }
  const store = await archiveThat(respond, 10_000, ({ message }) => logged.push(message))
  const failure = /^ClickHouse failed: (?:Error|ClickHouseError) 159 TIMEOUT_EXCEEDED$/
  await expect(store.read('select 1', row)).rejects.toThrow(failure)
  expect(logged).toEqual([expect.stringMatching(failure)])
})

test('ClickHouse gets the bound of each query, and sends nothing before a query has ended', async () => {
  let sent = new URLSearchParams()
  const store = await archiveThat((request, response) => {
    sent = new URL(request.url ?? '', 'http://localhost').searchParams
    response.end(JSON.stringify({ data: [{ n: '1' }] }))
  }, 2_500)
  expect(await store.read('select 1', row)).toEqual([{ n: '1' }])
  expect([sent.get('max_execution_time'), sent.get('wait_end_of_query')]).toEqual(['3', '1'])
})

test.each([
  ['never', () => undefined],
  ['without an end', (_request, response) => void response.write('{"data": [')],
] satisfies [string, RequestListener][])(
  'queries that ClickHouse answers %s end at their bound, also those that wait for a connection',
  async (_how, respond) => {
    const store = await archiveThat(respond, 300)
    const began = performance.now()
    const ended = await Promise.allSettled(Array.from({ length: 60 }, () => store.read('select 1', row)))
    expect(ended.map(({ status }) => status)).toEqual(Array(60).fill('rejected'))
    expect(performance.now() - began).toBeLessThan(3_000) // turns of four connections would take 4,500
  },
)
