import type { CallUrls, ProviderAdapter } from '../../../provider-adapter.ts'
import { behind } from '../../addresses.ts'
import { responsesRelay } from '../responses/relay.ts'
import { readAnswer } from './answer.ts'
import { embeddings } from './embeddings.ts'
import { writeRequest } from './request.ts'
import { eventReader } from './stream.ts'

const defaultPaths = { chat: '/chat/completions', embeddings: '/embeddings' }

/** The API of OpenAI and of everyone who serves the same: their differences are rows (`provider-rows.ts`). */
export const openAiAdapter: ProviderAdapter = {
  urlsOf,
  modelsUrlOf: (baseUrl) => behind(baseUrl, '/models'),
  isModelList: (body) => listsOf(body).some(Array.isArray),
  streamType: 'text/event-stream',
  chat: (request) => ({ json: writeRequest(request), ...reading }),
  embeddings,
  relay: responsesRelay,
}

/** Stateless: the same for every request. */
const reading = { createEventReader: () => eventReader, readAnswer }

function urlsOf({ baseUrl, quirks, type, model }: Parameters<ProviderAdapter['urlsOf']>[0]): CallUrls {
  const { paths = defaultPaths } = quirks
  // A base address that names its deployment has that part already.
  const own = baseUrl.split('?', 1)[0]?.includes('/deployments/') ? defaultPaths : paths
  const path = (type === 'chat' ? own.chat : own.embeddings).replace('{model}', () =>
    encodeURIComponent(model),
  )
  const url = behind(baseUrl, path)
  return { plain: url, stream: url }
}

/** `{data: []}` is OpenAI's; some give the bare list, or `models`. */
function listsOf(body: unknown): readonly unknown[] {
  const { data, models } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  return [body, data, models]
}
