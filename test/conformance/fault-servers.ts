import { afterAll } from 'vitest'
import { anthropicApi } from '../support/anthropic.ts'
import type { ModelFields } from '../support/catalog.ts'
import { startGemini } from '../support/gemini.ts'
import { gemini25Flash } from '../support/gemini-models.ts'
import { responsesApi } from '../support/openai-responses.ts'
import type { Stack } from '../support/stack.ts'
import { type ReceivedRequest, type Script, startUpstream, type Upstream } from '../support/upstream.ts'
import { speeches } from './fault-apis.ts'
import type { FaultyApi } from './fault-cases.ts'

/** A model at a provider of one API. `name`: unique among the models there. */
type Place = { readonly api: FaultyApi; readonly name: string | number }

export type FaultServers = {
  /** Creates a model whose only backend follows the script, and returns its name. `quirks`: of its provider, if not those of its API. */
  createModel(place: Place, script: Script, fields?: ModelFields, quirks?: 'vllm'): Promise<string>
  /** What the provider was asked for the model. */
  requestsFor(place: Place): readonly ReceivedRequest[]
}

/** A scripted provider of each API that stops with this test file. `places`: all that tests will create. */
export async function faultServersOfThisFile(stack: Stack, places: readonly Place[]): Promise<FaultServers> {
  const idOf = ({ api, name }: Place) => `${speeches[api].model}-${name}`
  const models = places.map((place) => ({ ...gemini25Flash, id: idOf(place) }))
  const upstreams: Readonly<Record<FaultyApi, Upstream>> = {
    OpenAI: stack.upstream,
    Anthropic: await startUpstream({ api: anthropicApi }),
    Responses: await startUpstream({ api: responsesApi }),
    Gemini: await startGemini({ models }),
  }
  const { Anthropic, Responses, Gemini } = upstreams
  afterAll(() => Promise.all([Anthropic, Responses, Gemini].map((server) => server.stop())))
  return {
    async createModel(place, script, fields = {}, quirks = undefined) {
      const speech = speeches[place.api]
      upstreams[place.api].answer(idOf(place), script)
      const provider = await stack.createProvider({
        api: speech.api,
        quirks: quirks ?? speech.quirks,
        headers: speech.headers,
        baseUrl: upstreams[place.api].url,
      })
      const backends = [{ name: 'main', provider, model: idOf(place), priority: 0, weight: 1 }]
      return stack.createModel({ ...fields, backends })
    },
    requestsFor: (place) => upstreams[place.api].requestsFor(idOf(place)),
  }
}
