import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fault, faults, type Outcome } from '../conformance/fault-cases.ts'
import { scriptOf } from '../conformance/fault-scripts.ts'
import { makeCertificate } from '../support/certificate.ts'
import type { Customer } from '../support/customer.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { forEachAtOnce } from '../support/several-at-once.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { type Answer, plain, startUpstream, streamed } from '../support/upstream.ts'
import { createClaudeCode } from './claude-code.ts'
import { startCountingProxy } from './counting-proxy.ts'

const stack = await stackOfThisFile()
const untrusted = await startUpstream({ certificate: makeCertificate() })
const gone = await startUpstream()
await gone.stop()
const silent = createServer().listen(0, '127.0.0.1')
afterAll(async () => {
  silent.close()
  await untrusted.stop()
})

let gateway: Process
let customer: Customer

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway({ ...patient, UPSTREAM_CONNECT_TIMEOUT_MS: '1000' })
  customer = await stack.createCustomer({ rpm: 100_000 })
})

/** Clients that run at once. */
const atOnce = 3
const timeouts = { requestMs: 8_000, firstByteMs: 1_000, streamIdleMs: 1_000 }
const rows = faults.filter(
  ({ stream, apis }) => stream !== undefined && (apis ?? ['OpenAI']).includes('OpenAI'),
)

const well: Answer = ({ body }) => (body.stream === true ? streamed(['Hello']) : plain('Hello'))

/** What Claude Code receives, request by request, from a provider that fails once. */
function expectedOf(outcome: Outcome): readonly number[] {
  if ('answer' in outcome) return [200]
  // It asks again, for a non-streaming response, if it did not receive the whole stream.
  if ('cut' in outcome) return [200, 200]
  const status = Number(outcome.refusal.slice(0, 3))
  // The response names a moment when the provider may serve again, and Claude Code waits for it.
  if (status === 503) return [503, 200]
  // It takes the words of other 400s for those of an unsupported beta, and leaves one out.
  return status === 400 && outcome.refusal !== '400 context_length_exceeded' ? [400, 200] : [status]
}

function addressOf(place: Fault['provider']): string {
  if (place === 'gone') return gone.url
  if (place === 'untrusted') return untrusted.url
  const address = silent.address()
  if (place === 'silent') return `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`
  return stack.upstream.url
}

/** The statuses that Claude Code receives from a model whose provider has this fault once and then works. */
async function play({ name, provider: place, stream }: Fault): Promise<readonly number[]> {
  const provider = await stack.createProvider({
    baseUrl: addressOf(place),
    network: { http: true, privateAddresses: place !== 'refused' },
  })
  const id = `fault-${rows.findIndex((row) => row.name === name)}`
  const backends = [{ name: 'main', provider, model: id, priority: 0, weight: 1 }]
  const model = await stack.createModel({ backends, timeouts })
  if (stream?.script !== undefined)
    stack.upstream.answer(id, scriptOf('OpenAI', stream.script, 'whole'), well)
  await untilServed(gateway, customer.key, model)
  const { baseUrl, requests, stop } = await startCountingProxy(gateway.baseUrl)
  await (await createClaudeCode({ model, key: customer.key, baseUrl })).ask('Hello')
  await stop()
  return requests.filter(({ method }) => method === 'POST').map(({ status }) => status)
}

test('a fault of a provider is one request of Claude Code, and one more if that may succeed', async () => {
  const received = new Map<string, readonly number[]>()
  await forEachAtOnce(rows, atOnce, async (row) => received.set(row.name, await play(row)))
  const statuses = (of: (row: Fault) => readonly number[] | undefined) =>
    Object.fromEntries(rows.map((row) => [row.name, of(row)?.join(' ')]))
  expect(statuses(({ name }) => received.get(name))).toEqual(
    statuses(({ stream }) => stream && expectedOf(stream)),
  )
}, 300_000)
