import type { ProviderDocument } from '#core/catalog/catalog-document'
import type { Refusal } from '#core/errors/refusal'
import { parseChatRequest } from '#gateway/requests/chat-request'
import { parseJsonBody } from '#gateway/requests/json-body'
import { type ParsedMessages, parseMessagesRequest } from '#gateway/requests/messages-request'
import { parseResponsesRequest } from '#gateway/requests/responses-request'
import { adaptChatRequest } from '#gateway/upstream/chat-request'
import { createDialect } from '#gateway/upstream/dialect'
import { isFailure } from '#gateway/upstream/provider-adapter'
import type { JsonObject } from '#gateway/wire/json-fields'
import { writeJson } from '#gateway/wire/json-writer'
import { workThrough } from '#gateway/wire/turns'
import { quantile } from './load.ts'
import { type Client, clients } from './use.ts'

/** How long a large conversation keeps the event loop, in ms. Medians of the rounds. */
export type HistoryTimes = {
  readonly client: Client
  readonly api: ProviderDocument['api']
  readonly content: string
  readonly bodyKiB: number
  readonly sentKiB: number
  /** Of reading the parsed body as a chat, and of the translation for the provider; both are done at once or in steps. */
  readonly readingMs: number
  readonly translationMs: number
  /** The longest turn from the body's bytes to those that are sent. */
  readonly longestTurnMs: number
  readonly longestOfAllMs: number
}

const messageCount = 200
const historyBytes = 900 * 1024
const rounds = 40
const warmUpRounds = 20

const models = {
  OpenAI: 'gpt-5.2',
  Anthropic: 'claude-opus-5',
  Gemini: 'gemini-3-pro-preview',
} as const
type Api = keyof typeof models

/** Conversations of 900 KB in 200 messages for each API of a provider, by each API of clients. */
export async function measureHistories(): Promise<readonly HistoryTimes[]> {
  const times: HistoryTimes[] = []
  for (const [content, messages] of Object.entries(histories()))
    for (const api of Object.keys(models) as Api[])
      for (const client of clients) times.push(await timesOf(client, api, content, messages))
  return times
}

async function timesOf(
  client: Client,
  api: Api,
  content: string,
  messages: readonly Message[],
): Promise<HistoryTimes> {
  const body = Buffer.from(JSON.stringify({ model: 'bench/model', ...readers[client].bodyOf(messages) }))
  const all: Awaited<ReturnType<typeof measureOnce>>[] = []
  for (let n = 0; n < warmUpRounds + rounds; n++) all.push(await measureOnce(client, api, body))
  const measured = all.slice(warmUpRounds)
  const longest = measured.map(({ longestTurnMs }) => longestTurnMs)
  return {
    client,
    api,
    content,
    bodyKiB: Math.round(body.length / 1024),
    sentKiB: Math.round((measured[0]?.sentBytes ?? 0) / 1024),
    readingMs: quantile(
      measured.map(({ readingMs }) => readingMs),
      0.5,
    ),
    translationMs: quantile(
      measured.map(({ translationMs }) => translationMs),
      0.5,
    ),
    longestTurnMs: quantile(longest, 0.5),
    longestOfAllMs: quantile(longest, 1),
  }
}

async function measureOnce(client: Client, api: Api, bytes: Buffer) {
  const turns = watchTurns()
  const parsed = await parseJsonBody(bytes)
  if ('refusal' in parsed) throw new Error(parsed.refusal.message)
  const readAtMs = performance.now()
  const asked = await readers[client].read(parsed.body, bytes.length)
  if ('refusal' in asked) throw new Error(asked.refusal.message)
  const beganAtMs = performance.now()
  const readingMs = beganAtMs - readAtMs
  const { call } = adaptChatRequest({
    body: asked.request,
    mode: 'stream',
    dialect: dialects[api],
    outputLimit: null,
    unmarked: 'kept',
    bodyBytes: bytes.length,
    fetchImage: () => Promise.reject(new Error('no image is fetched')),
  })
  const made = await call
  const translationMs = performance.now() - beganAtMs
  if (isFailure(made)) throw new Error(`${made.message} ${made.param}`)
  const written = await writeJson(made.json, bytes.length)
  const longestTurnMs = turns.stop()
  const sentBytes = [written].flat().reduce((sum, { length }) => sum + length, 0)
  return { readingMs, translationMs, longestTurnMs, sentBytes }
}

type Reader = {
  readonly bodyOf: (messages: readonly Message[]) => object
  readonly read: (body: JsonObject, bodyBytes: number) => Read | Promise<Read>
}
type Read = Pick<ParsedMessages, 'request'> | { readonly refusal: Refusal }

const readers: Readonly<Record<Client, Reader>> = {
  chat: { bodyOf: (messages) => ({ messages, max_tokens: 200 }), read: parseChatRequest },
  responses: {
    bodyOf: (messages) => ({ input: messages.flatMap(itemsOf), max_output_tokens: 200 }),
    read: (body, bodyBytes) => workThrough(parseResponsesRequest(body), bodyBytes),
  },
  messages: {
    bodyOf: (messages) => ({ messages: messages.map(blocksOf), max_tokens: 200 }),
    read: (body, bodyBytes) => workThrough(parseMessagesRequest(body), bodyBytes),
  },
}

/** The longest time between two turns of the event loop, until it is stopped. */
function watchTurns(): { readonly stop: () => number } {
  let lastAtMs = performance.now()
  let longestMs = 0
  const look = () => {
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, nowMs - lastAtMs)
    lastAtMs = nowMs
  }
  const turn = () => {
    look()
    immediate = setImmediate(turn)
  }
  let immediate = setImmediate(turn)
  return {
    stop() {
      clearImmediate(immediate)
      look()
      return longestMs
    },
  }
}

const dialects = Object.fromEntries(
  Object.entries(models).map(([api, model]) => {
    const provider = { api: api as Api, baseUrl: 'https://api.example/v1', name: 'bench' }
    const parameters = { drop: [], rename: {}, defaults: {} }
    return [
      api,
      createDialect(provider, model, {
        model: 'bench/model',
        type: 'chat',
        parameters,
        maxOutputTokens: null,
      }),
    ]
  }),
) as Record<Api, ReturnType<typeof createDialect>>

/** Words with what JSON escapes, so that writing is not copying. */
const sentence = 'The gateway said: "let it stream"\n'

function histories(): Readonly<Record<string, readonly Message[]>> {
  const each = Math.floor(historyBytes / messageCount)
  const text = sentence.repeat(Math.ceil(each / sentence.length)).slice(0, each)
  const args = JSON.stringify({ path: 'a/file.ts', lines: Array.from({ length: 300 }, (_, n) => n), text })
  const texts = Array.from({ length: messageCount }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: text,
  }))
  const user = { role: 'user', content: 'Do it' }
  const numbers = JSON.stringify({ vector: Array.from({ length: each / 20 }, (_, n) => (n + 1) / 7) })
  const png = Buffer.alloc(each, 'iVBORw0KGgo').toString('base64')
  const images = Array.from({ length: messageCount }, (_, n) =>
    n % 2 === 0
      ? {
          role: 'user',
          content: [
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${pngHead}${png.slice(0, each)}` },
            },
          ],
        }
      : { role: 'assistant', content: text },
  )
  return {
    texts,
    calls: [user, ...callsWith(args)],
    'calls with numbers': [user, ...callsWith(numbers)],
    images: [...images, user],
  }
}

type ImagePart = { readonly image_url: { readonly url: string } }
type Called = { readonly name: string; readonly arguments: string }
type Message = {
  readonly role: string
  readonly content: string | readonly ImagePart[] | null
  readonly tool_calls?: readonly { readonly id: string; readonly function: Called }[]
  readonly tool_call_id?: string
}

/** The items of a message: the same words. */
function itemsOf({ role, content, tool_calls: calls = [], tool_call_id: id }: Message): readonly object[] {
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id, output: content }]
  const called = calls.map((call) => ({ type: 'function_call', call_id: call.id, ...call.function }))
  if (content === null) return called
  const parts = typeof content === 'string' ? content : content.map(imageItemOf)
  return [{ role, content: parts }, ...called]
}

/** The same words as a message in blocks. */
function blocksOf({ role, content, tool_calls: calls = [], tool_call_id: id }: Message): object {
  if (role === 'tool') return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] }
  const called = calls.map((call) => {
    const { name, arguments: written } = call.function
    return { type: 'tool_use', id: call.id, name, input: JSON.parse(written) }
  })
  if (content === null) return { role, content: called }
  return { role, content: typeof content === 'string' ? content : content.map(imageBlockOf) }
}

function imageBlockOf({ image_url }: ImagePart): object {
  const [, data = ''] = image_url.url.split(',')
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
}

function imageItemOf({ image_url }: ImagePart): object {
  return { type: 'input_image', image_url: image_url.url }
}

/** Half of the messages are calls with these arguments, which are their results, too. */
function callsWith(args: string): readonly Message[] {
  return Array.from({ length: messageCount / 2 }, (_, n) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `call_${n}`, type: 'function', function: { name: 'write', arguments: args } }],
    },
    { role: 'tool', tool_call_id: `call_${n}`, content: args },
  ]).flat()
}

const pngHead = Buffer.from('89504e470d0a1a0a0000000d', 'hex').toString('base64')
