import OpenAI from 'openai'
import type { FunctionTool, ResponseInputItem } from 'openai/resources/responses/responses'
import { beforeAll, expect, test } from 'vitest'
import { thinkingBlock } from '../support/anthropic.ts'
import { geminiSignature } from '../support/gemini-signature.ts'
import { encryptedBy } from '../support/openai-responses.ts'
import type { Process } from '../support/processes.ts'
import { spokenModelsOfThisFile } from '../support/spoken-models.ts'
import { type BackendKind, everyBackendKind, type SpokenTurn, ways } from '../support/spoken-turns.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'

const stack = await stackOfThisFile()
const models = await spokenModelsOfThisFile(stack)
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
})

const pairs = everyBackendKind.flatMap((first) =>
  everyBackendKind.flatMap((second) => ways.map((way) => [first, second, way] as const)),
)

const thoughtOf = (id: string) => `Why I call ${id}.`
const calling = (id: string): SpokenTurn => ({
  thought: thoughtOf(id),
  calls: [{ id, name: 'get_weather', arguments: { city: id } }],
})
const tools: FunctionTool[] = [
  { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false },
]

/** What the provider signed of a turn that called; chat completions sign nothing. */
const signatureOf: Readonly<Record<BackendKind, (id: string) => string | undefined>> = {
  OpenAI: () => undefined,
  Anthropic: (id) => String(thinkingBlock(thoughtOf(id)).signature),
  Gemini: geminiSignature,
  Responses: (id) => encryptedBy(thoughtOf(id)),
}

/** The parts of signed reasoning that are only the gateway's. */
const ours: Readonly<Record<BackendKind, RegExp>> = {
  OpenAI: /encrypted|gateway|origin/,
  Anthropic: /encrypted|gateway|origin/,
  Gemini: /encrypted|gateway|origin/,
  Responses: /gateway|origin/,
}

test.each(pairs)(
  'a loop of tools at %s goes on at a fallback of %s and back, each with its own reasoning, %s',
  async (first, second, way) => {
    const other = await models.create(second, [calling('call_2')])
    const turns = [calling('call_1'), { status: 500 }, calling('call_3'), { text: 'Done' }]
    const { model, sent } = await models.create(first, turns, { fallbacks: [other.model], attempts: 1 })
    const { key } = await stack.createCustomer()
    for (const name of [other.model, model]) await untilServed(gateway, key, name)
    // It repeats only what the gateway rejects before a provider is asked: on a busy machine Redis may answer too late.
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: key, maxRetries: 2 })
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Look' }]
    const called: string[] = []
    let text = ''
    for (let turn = 0; turn < 4; turn += 1) {
      const body = { model, input, tools, reasoning: { effort: 'low' }, max_output_tokens: 4_096 } as const
      const response =
        way === 'whole'
          ? await client.responses.create({ ...body })
          : await client.responses.stream({ ...body, stream: true }).finalResponse()
      expect(response).toMatchObject({ status: 'completed', model: turn === 1 ? other.model : model })
      input.push(...(response.output as ResponseInputItem[]))
      for (const item of response.output)
        if (item.type === 'function_call') {
          called.push(item.call_id)
          input.push({ type: 'function_call_output', call_id: item.call_id, output: 'Sun' })
        }
      text = response.output_text
    }
    expect(text).toBe('Done')
    expect(called).toHaveLength(3)
    const [asked, , again, last] = sent().map((body) => JSON.stringify(body))
    const [helped] = other.sent().map((body) => JSON.stringify(body))
    for (const body of [asked, again, last]) expect(body).not.toMatch(ours[first])
    expect(helped).not.toMatch(ours[second])
    const signedIn = (body: string | undefined, kind: BackendKind, id: string) =>
      body?.includes(JSON.stringify(signatureOf[kind](id) ?? 'nothing').slice(1, -1))
    expect(signedIn(helped, first, 'call_1'), 'reasoning of another provider').toBe(false)
    expect(signedIn(last, second, 'call_2'), 'reasoning of another provider').toBe(false)
    for (const id of ['call_1', 'call_3']) expect(signedIn(last, first, id)).toBe(first !== 'OpenAI')
  },
)
