import {
  geminiArrayStream,
  geminiChunk,
  geminiEmbeddings,
  geminiError,
  geminiStream,
  geminiUsage,
  generated,
  sent,
} from './gemini-answers.ts'
import { findContentFault, findContentsFault } from './gemini-contents.ts'
import {
  fieldsOf,
  firstFault,
  type GeminiFault,
  invalid,
  invalidArgument,
  invalidField,
  listOf,
  unreadable,
} from './gemini-fault.ts'
import { type GeminiModel, geminiModels, shownModel } from './gemini-models.ts'
import { type Fields, parseMessage } from './gemini-proto.ts'
import { findConfigFault, findToolsFault } from './gemini-settings.ts'
import {
  type ProviderApi,
  type ReceivedRequest,
  type RequestHead,
  type Script,
  startUpstream,
  type Upstream,
} from './upstream.ts'

/** The API key that the scripted server accepts: as `x-goog-api-key` or `?key=`. */
export const geminiKey = 'scripted-gemini-key'

/** The OAuth token that it accepts as Bearer. As in the original, an API key is no Bearer token. */
export const geminiToken = 'scripted-gemini-token'

type Target = { readonly model: string; readonly method: string; readonly query: URLSearchParams }

const requestTypes: Readonly<Record<string, string>> = {
  generateContent: 'GenerateContentRequest',
  streamGenerateContent: 'GenerateContentRequest',
  countTokens: 'CountTokensRequest',
  embedContent: 'EmbedContentRequest',
  batchEmbedContents: 'BatchEmbedContentsRequest',
}

/** Gemini's API at AI Studio, as strict as the original, with these models. */
function apiOf(models: readonly GeminiModel[]): ProviderApi {
  return {
    basePath: '/v1beta',
    modelOf: (request) => (isList(request) ? '/models' : targetOf(request).model),
    faultOf(request) {
      if (!isRoute(request)) return { message: 'Not Found', answer: notFound }
      const fault = findFault(request, models)
      if (fault === undefined) return undefined
      const { code, status, message, details } = fault
      const { method, query } = targetOf(request)
      const isListed = method === 'streamGenerateContent' && query.get('alt') !== 'sse'
      return { message, answer: geminiError(code, status, message, details, isListed) }
    },
    hello: (request) => helloOf(request, models),
  }
}

/** Gemini's API with the models of `gemini-models.ts`, for `startUpstream`. */
export const geminiApi = apiOf(geminiModels)

/** A scripted Gemini server; `models` instead of those of `gemini-models.ts`. */
export function startGemini(
  settings: { readonly port?: number; readonly models?: readonly GeminiModel[] } = {},
): Promise<Upstream> {
  const { models, ...rest } = settings
  return startUpstream({ ...rest, api: models === undefined ? geminiApi : apiOf(models) })
}

/** Of Google's front end, which a request outside the API does not pass. */
const notFound: Script = {
  status: 404,
  headers: { 'content-type': 'text/html; charset=UTF-8' },
  steps: [{ send: '<!DOCTYPE html>\n<html lang=en>\n<title>Error 404 (Not Found)!!1</title>\n' }],
}

function isRoute({ method, path }: RequestHead): boolean {
  const { pathname } = new URL(path, 'http://upstream')
  if (method === 'GET') return /^\/v1beta\/models(?:\/[^/:]+)?$/.test(pathname)
  const [, called = ''] = /^\/v1beta\/models\/[^/:]+(?::|%3A)(\w+)$/i.exec(pathname) ?? []
  return method === 'POST' && called in requestTypes
}

const isList = ({ path }: Pick<RequestHead, 'path'>) => targetOf({ path }).model === ''

function targetOf({ path }: Pick<RequestHead, 'path'>): Target {
  const { pathname, searchParams: query } = new URL(path, 'http://upstream')
  const [, name = ''] = /\/models\/([^/]+)$/.exec(pathname) ?? []
  const [model = '', method = ''] = decodeURIComponent(name).split(':')
  return { model, method, query }
}

function findFault(request: RequestHead, models: readonly GeminiModel[]): GeminiFault | undefined {
  const target = targetOf(request)
  const model = models.find(({ id }) => id === target.model)
  return (
    findKeyFault(request, target) ??
    (request.method === 'GET' && target.model === '' ? undefined : findModelFault(target, model)) ??
    (request.method === 'GET' || model === undefined
      ? undefined
      : findBodyFault(request.body, target.method, model))
  )
}

const service = { domain: 'googleapis.com', metadata: { service: 'generativelanguage.googleapis.com' } }
const errorInfo = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo' }

function findKeyFault({ headers }: RequestHead, { query }: Target): GeminiFault | undefined {
  const key = headers['x-goog-api-key'] ?? query.get('key') ?? undefined
  const { authorization } = headers
  if (key === undefined && authorization === undefined)
    return {
      code: 403,
      status: 'PERMISSION_DENIED',
      message:
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    }
  if (key !== undefined && key !== geminiKey) {
    const message = 'API key not valid. Please pass a valid API key.'
    const localized = { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message }
    return {
      ...invalid(message),
      details: [{ ...errorInfo, reason: 'API_KEY_INVALID', ...service }, localized],
    }
  }
  if (key !== undefined || authorization === `Bearer ${geminiToken}`) return undefined
  return {
    code: 401,
    status: 'UNAUTHENTICATED',
    message:
      'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
    details: [{ ...errorInfo, reason: 'ACCESS_TOKEN_TYPE_UNSUPPORTED', ...service }],
  }
}

function findModelFault(
  { model: id, method }: Target,
  model: GeminiModel | undefined,
): GeminiFault | undefined {
  const wanted = method === 'streamGenerateContent' ? 'generateContent' : method
  if (model !== undefined && (method === '' || model.methods.includes(wanted))) return undefined
  return {
    code: 404,
    status: 'NOT_FOUND',
    message: `models/${id} is not found for API version v1beta, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`,
  }
}

function findBodyFault(body: Fields, method: string, model: GeminiModel): GeminiFault | undefined {
  const type = requestTypes[method] ?? ''
  const { message, violations } = parseMessage(type, body)
  if (violations.length > 0) return unreadable(violations)
  if (type === 'GenerateContentRequest') return findGenerateFault(message, type, model)
  if (type === 'CountTokensRequest') return findCountFault(message, type, model)
  if (type === 'EmbedContentRequest') return findEmbedFault(message, type, model)
  return findBatchFault(message, type, model)
}

function findGenerateFault(request: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const { systemInstruction, contents } = request
  return firstFault(
    () =>
      systemInstruction === undefined
        ? undefined
        : findContentFault(
            { ...fieldsOf(systemInstruction), role: 'user' },
            `${path}.system_instruction`,
            model,
          ),
    () => findContentsFault(listOf(contents), path, model),
    () => findToolsFault(request, path),
    () => findConfigFault(request, path, model),
  )
}

/** `contents` and `generateContentRequest` are mutually exclusive: https://ai.google.dev/api/tokens. */
function findCountFault(request: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const { contents, generateContentRequest } = request
  if (generateContentRequest === undefined) return findContentsFault(listOf(contents), path, model)
  return contents === undefined
    ? findGenerateFault(fieldsOf(generateContentRequest), `${path}.generate_content_request`, model)
    : invalidArgument
}

function findEmbedFault(request: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const { content, outputDimensionality, embedContentConfig } = request
  const parts = listOf(fieldsOf(content).parts)
  const dimensions = Number(outputDimensionality ?? fieldsOf(embedContentConfig).outputDimensionality ?? 1)
  if (parts.length === 0) return invalidArgument
  // https://github.com/lingfengQAQ/webnovel-writer/pull/51
  if (parts.some(({ text }) => text === '')) return invalid(`${path}.content contains an empty Part.`)
  if (dimensions < 1 || dimensions > model.dimensionsMax) return invalidArgument
  return findContentFault(fieldsOf(content), `${path}.content`, model)
}

/** The most in one batch: https://github.com/geldata/gel/issues/9032. Each request names the model of the batch. */
function findBatchFault(batch: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const requests = listOf(batch.requests)
  if (requests.length === 0) return invalidArgument
  if (requests.length > 100)
    return invalidField(`${path}.requests`, 'at most 100 requests can be in one batch')
  return requests.map((request, at) => findOneFault(request, `${path}.requests[${at}]`, model)).find(Boolean)
}

function findOneFault(request: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  if (!String(request.model ?? '').startsWith('models/'))
    return invalidField(`${path}.model`, 'unexpected model name format')
  return request.model === `models/${model.id}`
    ? findEmbedFault(request, 'EmbedContentRequest', model)
    : invalidArgument
}

/** `Hello`, as asked: in as many candidates, whole or in two pieces; a vector per text; the models. */
function helloOf(request: ReceivedRequest, models: readonly GeminiModel[]): Script {
  const { method, model, query } = targetOf(request)
  if (isList(request)) return sent({ models: models.map(shownModel) })
  if (method === '') return sent(models.filter(({ id }) => id === model).map(shownModel)[0] ?? {})
  if (method === 'countTokens') return sent({ totalTokens: geminiUsage.promptTokenCount })
  if (method === 'embedContent') return sent({ embedding: { values: vectorOf(request.body) } })
  if (method === 'batchEmbedContents') return geminiEmbeddings(listOf(request.body.requests).map(vectorOf))
  if (method === 'generateContent') {
    const { candidateCount = 1 } = fieldsOf(request.body.generationConfig)
    const candidate = { content: { parts: [{ text: 'Hello' }], role: 'model' }, finishReason: 'STOP' }
    const candidates = Array.from({ length: Number(candidateCount) }, (_, index) => ({ ...candidate, index }))
    return generated('Hello', { candidates })
  }
  const pieces = [geminiChunk.text('Hel'), geminiChunk.text('lo'), geminiChunk.finish()]
  return query.get('alt') === 'sse' ? geminiStream(pieces) : geminiArrayStream(pieces)
}

/** The same for the same request; not normalized below 3072 dimensions, as in the original. */
function vectorOf({ outputDimensionality = 3072 }: Fields): readonly number[] {
  return Array.from({ length: Number(outputDimensionality) }, (_, at) => ((at % 7) - 3) / 16)
}
