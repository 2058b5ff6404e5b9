import { beforeAll, expect, test } from 'vitest'
import type { Process } from '../support/processes.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { type Script, streamHeaders } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway({ NODE_OPTIONS: '--max-old-space-size=192' })
})

const messages = [{ role: 'user', content: 'x' }]
const answersAtOnce = 6

/** Bytes that each come in a separate HTTP chunk. */
function inChunksOfOne(contentType: string, bytes: string): Script {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n\r\n`
  return { raw: head + [...bytes].map((byte) => `1\r\n${byte}\r\n`).join('') }
}

test.each<[string, boolean, Script]>([
  [
    'lines of data without a blank line between them',
    true,
    { headers: streamHeaders, steps: [{ send: 'data:a\n'.repeat(2_000_000) }, { cut: 'fin' }] },
  ],
  ['a line, byte by byte', true, inChunksOfOne('text/event-stream', `data: ${'a'.repeat(1_000_000)}`)],
  ['a plain answer, byte by byte', false, inChunksOfOne('application/json', ' '.repeat(1_000_000))],
])(
  'providers that send %s, cost no more memory than what they say',
  async (_what, stream, script) => {
    const model = await stack.createModel()
    const { key } = await stack.createCustomer()
    await untilServed(gateway, key, model)
    stack.upstream.answer(model, script)
    const asked = Array.from({ length: answersAtOnce }, () => post(gateway, key, { model, messages, stream }))
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(502)
    expect(gateway.exitCode()).toBeNull()
  },
  60_000,
)
