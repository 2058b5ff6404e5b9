import type { paths } from '../../bench/load.ts'

/** The APIs that clients speak. */
export type ClientApi = keyof typeof paths

export const clientApis = ['chat', 'responses', 'messages'] as const satisfies readonly ClientApi[]

/** One of them after the other: that of the n-th request, or of the n-th round of as many requests. */
export function apiOf(n: number, perRound = 1): ClientApi {
  return clientApis[Math.floor(n / perRound) % clientApis.length] ?? 'chat'
}

/** A chat request. */
export type Chat = {
  readonly model: string
  readonly messages: readonly object[]
  readonly max_tokens?: number
  readonly stream?: boolean
}

/** Where that API needs a limit. */
const defaultTokensMax = 1_000

/** The body of a chat request as a client of that API sends it. Contents are texts. */
export function bodyIn(api: ClientApi, chat: Chat): object {
  const { messages, max_tokens: most, ...others } = chat
  if (api === 'chat') return chat
  if (api === 'messages') return { ...others, messages, max_tokens: most ?? defaultTokensMax }
  return { ...others, input: messages, ...(most === undefined ? {} : { max_output_tokens: most }) }
}

/** Words of a model in the events and bodies of every API. */
const words = /"(?:content|delta|text)":"((?:[^"\\]|\\.)*)"/g

/** What a client reads, at once or in pieces, besides everything around it. */
export function readBy(text: string): string {
  return `${text}\n${[...text.matchAll(words)].map(([, piece]) => piece).join('')}`
}

/** The words of a response, once: Responses end with all that came in pieces before. */
export function saidIn(text: string): string {
  const pieces = [...text.matchAll(/"delta":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece)
  return pieces.length === 0 ? text : pieces.join('')
}
