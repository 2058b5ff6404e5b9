import { beforeAll, describe, expect, test } from 'vitest'
import type { Customer } from '../support/customer.ts'
import { png } from '../support/gemini-requests.ts'
import { type OpenResponse, openResponse, openResponsesEvent } from '../support/open-responses-schema.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { type SpokenModel, spokenModelsOfThisFile } from '../support/spoken-models.ts'
import { everyBackendKind, type SpokenTurn } from '../support/spoken-turns.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
const models = await spokenModelsOfThisFile(stack)
let gateway: Process
let customers: Readonly<Record<Storage, Customer>>

beforeAll(async () => {
  await stack.startWorker()
  const web = await stack.startWeb()
  gateway = await stack.startGateway({ ...patient, CABINET_URL: new URL(web.baseUrl).origin })
  customers = {
    stored: await stack.createCustomer({ keepsResponsesHours: 1 }),
    'not stored': await stack.createCustomer(),
  }
})

type Storage = 'stored' | 'not stored'

type Served = SpokenModel & Customer

function send({ key, model }: Served, body: object): Promise<Response> {
  return fetch(`${gateway.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...body }),
  })
}

/** A response that its schema accepts. */
async function ask(served: Served, body: object): Promise<OpenResponse> {
  const response = await send(served, body)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return openResponse.parse(JSON.parse(text))
}

const message = (role: string, content: unknown) => ({ type: 'message', role, content })
const user = (content: unknown) => message('user', content)
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}
const call = { id: 'call_1', name: 'get_weather', arguments: { location: 'Kazan' } }
const words = (response: OpenResponse) =>
  response.output.flatMap((item) =>
    item.type === 'message' ? item.content.map((part) => ('text' in part ? part.text : '')) : [],
  )

/** A page of a PDF with one line. */
const pdf = Buffer.from(
  `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj
trailer<</Root 1 0 R>>
%%EOF`,
).toString('base64')

const everywhere = everyBackendKind.flatMap((kind) =>
  (['stored', 'not stored'] as const).map((storage) => [kind, storage] as const),
)

/** The cases of the published suite, by their names; it also has two that need a provider's own tools. */
describe.each(everywhere)('Open Responses, with a backend of %s, %s', (kind, storage) => {
  async function serve(...turns: readonly SpokenTurn[]): Promise<Served> {
    const served = await models.create(kind, turns)
    const customer = customers[storage]
    await untilServed(gateway, customer.key, served.model)
    return { ...served, ...customer }
  }

  test('basic-response', async () => {
    const served = await serve({ text: 'Hello to you' })
    const response = await ask(served, { input: [user('Say hello in three words.')] })
    expect([response.status, words(response)]).toEqual(['completed', ['Hello to you']])
  })

  test('streaming-response', async () => {
    const served = await serve({ text: '1 2 3' })
    const answer = await send(served, { stream: true, input: [user('Count to three.')] })
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    const frames = (await answer.text()).split('\n\n').filter((frame) => frame !== '')
    expect(frames.pop()).toBe('data: [DONE]')
    const events = frames.map((frame) =>
      openResponsesEvent.parse(JSON.parse(frame.split('\ndata: ')[1] ?? '')),
    )
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error(`the last event is ${last?.type}`)
    expect([last.response.status, words(last.response)]).toEqual(['completed', ['1 2 3']])
  })

  test('system-prompt', async () => {
    const served = await serve({ text: 'Ahoy' })
    const response = await ask(served, {
      input: [message('system', 'You are a pirate.'), user('Say hello.')],
    })
    expect(words(response)).toEqual(['Ahoy'])
    expect(JSON.stringify(served.sent())).toContain('You are a pirate.')
  })

  test('tool-calling', async () => {
    const served = await serve({ calls: [call] })
    const { output, tools } = await ask(served, { input: [user('What is the weather?')], tools: [weather] })
    // Gemini signs its calls, in an item of their reasoning.
    expect(output.filter(({ type }) => type !== 'reasoning')).toMatchObject([
      { type: 'function_call', name: 'get_weather', status: 'completed' },
    ])
    // OpenAI repeats its own default.
    expect(tools).toMatchObject([{ name: 'get_weather', strict: kind === 'Responses' ? true : null }])
  })

  test('function-call-roundtrip', async () => {
    const served = await serve({ calls: [call] }, { text: 'It is sunny.' })
    const question = user('What is the weather?')
    const { output } = await ask(served, { input: [question], tools: [weather] })
    const called = output.find((item) => item.type === 'function_call')
    if (called === undefined) throw new Error('nothing was called')
    const result = { type: 'function_call_output', call_id: called.call_id, output: '{"degrees":1}' }
    const response = await ask(served, { input: [question, ...output, result], tools: [weather] })
    expect([response.status, words(response)]).toEqual(['completed', ['It is sunny.']])
    expect(JSON.stringify(served.sent().at(-1))).toContain('degrees')
  })

  test('image-input', async () => {
    const served = await serve({ text: 'A square' })
    const image = { type: 'input_image', image_url: `data:image/png;base64,${png}` }
    const response = await ask(served, {
      input: [user([{ type: 'input_text', text: 'What do you see?' }, image])],
    })
    expect(words(response)).toEqual(['A square'])
    expect(JSON.stringify(served.sent())).toContain(png)
  })

  test('file-input', async () => {
    const served = await serve({ text: 'An empty page' })
    const file = {
      type: 'input_file',
      filename: 'page.pdf',
      file_data: `data:application/pdf;base64,${pdf}`,
    }
    const response = await ask(served, {
      input: [user([{ type: 'input_text', text: 'What is in this file?' }, file])],
    })
    expect(words(response)).toEqual(['An empty page'])
    expect(JSON.stringify(served.sent())).toContain(pdf)
  })

  test('multi-turn', async () => {
    const served = await serve({ text: 'Alice' })
    const input = [user('My name is Alice.'), message('assistant', 'Hello, Alice.'), user('What is my name?')]
    expect(words(await ask(served, { input }))).toEqual(['Alice'])
    const sent = JSON.stringify(served.sent())
    for (const text of ['My name is Alice.', 'Hello, Alice.']) expect(sent).toContain(text)
  })

  test('previous-response-id', async () => {
    const served = await serve({ text: 'Hello, Alice.' }, { text: 'Alice' })
    const { id, store } = await ask(served, { input: [user('My name is Alice.')] })
    const second = { previous_response_id: id, input: [user('What is my name?')] }
    expect(store).toBe(storage === 'stored')
    if (store) {
      const response = await ask(served, second)
      expect([response.previous_response_id, words(response)]).toEqual([id, ['Alice']])
      expect(JSON.stringify(served.sent().at(-1))).toContain('My name is Alice.')
      return
    }
    const rejected = await send(served, second)
    expect(rejected.status).toBe(400)
    expect(await rejected.json()).toMatchObject({
      error: { code: 'invalid_value', param: 'previous_response_id' },
    })
    expect(served.sent()).toHaveLength(1)
  })
})
