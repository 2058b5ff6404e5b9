import { beforeAll, expect, test } from 'vitest'
import type { Process } from '../support/processes.ts'
import { createSealedProvider } from '../support/sealed-provider.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { refusal } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
})

const credential = 'hunter2-canary-88'
const messages = [{ role: 'user', content: 'x' }]

/** A model at a provider with this credential, and with headers that no user may set. */
async function modelAtProvider(): Promise<string> {
  const name = await createSealedProvider(stack, {
    baseUrl: stack.upstream.url,
    header: 'authorization',
    credential,
    headers: [
      { name: 'Host', value: 'elsewhere.example' },
      { name: 'Transfer-Encoding', value: 'chunked' },
      { name: 'Content-Length', value: '3' },
      { name: 'X-Team', value: 'a' },
    ],
  })
  const model = `test/at-${name}`
  const backend = { name: 'only', provider: name, model, priority: 0, weight: 1 }
  return stack.createModel({ model, backends: [backend] })
}

test.each([true, false])(
  'the credential of a provider is never shown, however short, wherever it is quoted (stream: %s)',
  async (stream) => {
    const model = await modelAtProvider()
    const { key } = await stack.createCustomer()
    await untilServed(gateway, key, model)
    stack.upstream.answer(
      model,
      refusal(400, `bad key ${credential}`),
      refusal(400, `Bearer ${credential} and ${credential}`, { code: 'context_length_exceeded' }),
      refusal(400, `policy of ${credential}`, { code: 'content_policy_violation' }),
    )
    for (let n = 0; n < 3; n += 1) {
      const answer = await post(gateway, key, { model, messages, stream })
      expect(answer.status).toBe(400)
      const text = await answer.text()
      expect(text).toContain('[hidden]')
      expect(text).not.toContain(credential)
      expect(text).not.toContain('hunter2-')
    }
  },
)

test('a provider cannot replace Host or the headers that mark where a request ends', async () => {
  const model = await modelAtProvider()
  const { key } = await stack.createCustomer()
  await untilServed(gateway, key, model)
  const answer = await post(gateway, key, { model, messages })
  expect(answer.status).toBe(200)
  const [asked] = stack.upstream.requestsFor(model)
  expect(asked?.headers.host).toBe(new URL(stack.upstream.url).host)
  expect(asked?.headers['transfer-encoding']).toBeUndefined()
  expect(asked?.headers['x-team']).toBe('a')
  expect(asked?.headers.authorization).toBe(`Bearer ${credential}`)
})
