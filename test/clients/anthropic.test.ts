import { expect, test } from 'vitest'
import { patient } from '../support/patient-gateway.ts'
import { everyBackendKind, type SpokenTurn } from '../support/spoken-turns.ts'
import { type CustomerOptions, post } from '../support/stack.ts'
import { refusal } from '../support/upstream.ts'
import { clientsOfThisFile, runProgram, type Served } from './clients.ts'

const { stack, serve } = await clientsOfThisFile()

const place = { place: 'Kazan', people: 1_300_000 }

test.each(everyBackendKind)(
  "Anthropic's SDK for Python parses objects, reads streams, runs tools, counts and lists, with a backend of %s",
  async (kind) => {
    const served = await serve(kind, [
      { text: JSON.stringify(place) },
      { text: 'Hello' },
      { thought: 'I look.', calls: [{ id: 'toolu_1', name: 'get_weather', arguments: { city: 'Kazan' } }] },
      { text: 'It is sunny.' },
    ])
    const { key, baseUrl } = served
    const env = { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, '') }
    expect(await runProgram('anthropic_python.py', served, env)).toEqual({
      parsed: place,
      streamed: 'Hello',
      stopReason: 'end_turn',
      costRub: expect.stringMatching(/^0\.\d+$/),
      text: 'It is sunny.',
      count: expect.toSatisfy((count) => count > 0 && count < 100),
      isListed: true,
    })
    expect(JSON.stringify(served.sent()[3])).toContain('Kazan is sunny')
  },
)

const bodyBytesMax = 16_384

test("Anthropic's SDK for Python raises the class of each error, by both API versions", async () => {
  const small = await stack.startGateway({ ...patient, GATEWAY_BODY_BYTES_MAX: String(bodyBytesMax) })
  const by = (customer: CustomerOptions) => serve('OpenAI', [], { customer })
  const answering = async (...turns: readonly SpokenTurn[]) => serve('OpenAI', turns)
  const served = await answering({ text: 'Hello' })
  const overlong = await answering()
  stack.upstream.answer(overlong.backendModel, refusal(400, 'too long', { code: 'context_length_exceeded' }))
  const limited = await serve('OpenAI', [{ text: 'Hello' }], { customer: { rpm: 1 } })
  const chat = { model: limited.model, messages: [{ role: 'user', content: 'Hello' }] }
  expect((await post(limited, limited.key, chat)).status).toBe(200)
  const cases: readonly (readonly [expected: string, served: Served, changes?: object])[] = [
    ['400 BadRequestError', served, { body: { messages: [] } }],
    ['400 BadRequestError', overlong],
    ['401 AuthenticationError', { ...served, key: served.key.replace(/.{8}$/, 'aaaaaaaa') }],
    ['402 PaymentRequiredError', await by({ balanceNano: 1_000n })],
    ['402 PaymentRequiredError', served, { headers: { 'x-gateway-max-cost-rub': '0' } }],
    ['403 PermissionDeniedError', await by({ allowedModels: ['other/*'] })],
    ['404 NotFoundError', { ...served, model: 'none/at-all' }],
    [
      '413 ContentTooLargeError',
      await serve('OpenAI', [], { gateway: small }),
      { body: { system: 'x'.repeat(bodyBytesMax) } },
    ],
    ['429 RateLimitError', limited],
    ['502 InternalServerError', await answering({ status: 500 })],
    ['503 ServiceUnavailableError', await answering({ status: 429 })],
    ['504 GatewayTimeoutError', served, { headers: { 'x-gateway-timeout-ms': '1' } }],
  ]
  const sent = cases.map(([, { key, baseUrl, model }, changes]) => ({
    key,
    baseUrl: baseUrl.replace(/\/v1$/, ''),
    model,
    ...changes,
  }))
  const { raised } = await runProgram('anthropic_errors.py', served, { CASES: JSON.stringify(sent) })
  expect(raised).toEqual(cases.map(([expected]) => [expected, expected]))
})
