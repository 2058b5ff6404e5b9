import { fieldsOf } from '../../../../wire/json-fields.ts'
import type { CallUrls, ProviderAdapter } from '../../../provider-adapter.ts'
import { behind } from '../../addresses.ts'
import { embeddings } from './embeddings.ts'
import { modelPathOf } from './model-path.ts'
import { writeChat } from './request.ts'

/** Gemini's own API (`generateContent`), at AI Studio's address or one like it; Vertex AI has other addresses. */
export const geminiAdapter: ProviderAdapter = {
  urlsOf,
  modelsUrlOf: (baseUrl) => behind(baseUrl, '/models'),
  isModelList: (body) => Array.isArray(fieldsOf(body)?.models),
  streamType: 'text/event-stream',
  chat: writeChat,
  embeddings,
}

function urlsOf({ baseUrl, type, model }: Parameters<ProviderAdapter['urlsOf']>[0]): CallUrls {
  const [kind, ...name] = modelPathOf(model).split('/')
  const path = `/${kind}/${encodeURIComponent(name.join('/'))}`
  if (type === 'embedding') {
    const url = behind(baseUrl, `${path}:batchEmbedContents`)
    return { plain: url, stream: url }
  }
  return {
    plain: behind(baseUrl, `${path}:generateContent`),
    // Without it, a stream is one JSON array.
    stream: behind(baseUrl, `${path}:streamGenerateContent`, 'alt=sse'),
  }
}
