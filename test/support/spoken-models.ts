import { randomBytes } from 'node:crypto'
import { afterAll, expect } from 'vitest'
import { startAnthropic } from './anthropic.ts'
import type { ModelFields } from './catalog.ts'
import { geminiKey, startGemini } from './gemini.ts'
import { type GeminiModel, gemini3Pro } from './gemini-models.ts'
import { responsesApi } from './openai-responses.ts'
import { type BackendKind, type SpokenTurn, spoken } from './spoken-turns.ts'
import type { Stack } from './stack.ts'
import { startUpstream, type Upstream } from './upstream.ts'

type Fields = { readonly [field: string]: unknown }

export type SpokenModel = {
  readonly model: string
  /** Its provider's name for it. */
  readonly backendModel: string
  /** Bodies that its provider accepted, in order. It must have rejected none. */
  sent(): readonly Fields[]
}

export type SpokenModels = {
  /** Creates a model whose only backend is of this kind and answers so, the last turn to all that follow. */
  create(kind: BackendKind, turns?: readonly SpokenTurn[], fields?: ModelFields): Promise<SpokenModel>
}

/** The name that models of the provider begin with. */
const modelAt: Readonly<Record<BackendKind, string>> = {
  OpenAI: 'gpt-4o',
  Anthropic: 'claude-opus-5',
  Gemini: gemini3Pro.id,
  Responses: 'gpt-5-codex',
}

const headersAt: Readonly<Record<BackendKind, readonly { readonly name: string; readonly value: string }[]>> =
  {
    OpenAI: [],
    Anthropic: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
    Gemini: [{ name: 'x-goog-api-key', value: geminiKey }],
    Responses: [],
  }

/** Scripted providers of every kind that stop with this test file, and models behind a stack's gateways that use them. */
export async function spokenModelsOfThisFile(stack: Stack): Promise<SpokenModels> {
  const geminiModels: GeminiModel[] = []
  const [anthropic, gemini, responses] = await Promise.all([
    startAnthropic(),
    startGemini({ models: geminiModels }),
    startUpstream({ api: responsesApi }),
  ])
  afterAll(() => Promise.all([anthropic, gemini, responses].map((server) => server.stop())))
  const upstreams: Readonly<Record<BackendKind, Upstream>> = {
    OpenAI: stack.upstream,
    Anthropic: anthropic,
    Gemini: gemini,
    Responses: responses,
  }
  return {
    async create(kind, turns = [], fields = {}) {
      const upstream = upstreams[kind]
      const id = `${modelAt[kind]}-${randomBytes(4).toString('hex')}`
      geminiModels.push({ ...gemini3Pro, id })
      const provider = await stack.createProvider({
        ...(kind === 'Responses' ? { api: 'OpenAI', quirks: 'openai' } : { api: kind }),
        baseUrl: upstream.url,
        headers: [...headersAt[kind]],
      })
      const backends = [{ name: 'main', provider, model: id, priority: 0, weight: 1 }]
      const model = await stack.createModel({ ...fields, backends })
      const [first, ...others] = turns.map((turn) => spoken(kind, turn))
      if (first !== undefined) upstream.answer(id, first, ...others)
      return {
        model,
        backendModel: id,
        sent: () =>
          upstream.requestsFor(id).map(({ body, fault }) => {
            expect(fault).toBeUndefined()
            return body
          }),
      }
    },
  }
}
