import { Agent, request } from 'undici'
import { z } from 'zod'

/** Longest that Telegram may hold a call for updates, in seconds. */
export const pollSeconds = 25
/** Longest that any other call may take, and that a call for updates may take in addition, in ms. */
export const callMsMax = 10_000
/** `updatesMax` updates are smaller: the longest message with all its entities, and one that it replies to. */
const responseBytesMax = 4 * 1024 * 1024
/** Updates of one response. The rest follows immediately. */
const updatesMax = 20

/** What the bot needs to be reached. The token is in the path of every call: no error may contain an address. */
export type TelegramSettings = {
  /** Without a slash at its end. */
  readonly apiUrl: string
  readonly token: string
}

/** An answer of the Bot API (https://core.telegram.org/bots/api#making-requests), or why there is none. */
export type TelegramAnswer<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | {
      readonly kind: 'refused'
      readonly status: number
      /** For decisions only: never logged, because a proxy may repeat the address in it. */
      readonly description: string
      readonly retryAfterS: number | undefined
      readonly migrateToChatId: number | undefined
    }
  /** A code of the network, or that the answer is not Telegram's. */
  | { readonly kind: 'failed'; readonly code: string }

export type Bot = { readonly id: number; readonly username: string }

/** What the bot acts on: a text message, or that it was removed from a chat. */
export type Update = {
  readonly updateId: number
  readonly message: ChatMessage | undefined
  /** The chat that has blocked or removed the bot. */
  readonly leftChatId: number | undefined
}

type ChatMessage = { readonly chatId: number; readonly chatName: string; readonly text: string }

export type TelegramApi = {
  getMe(signal: AbortSignal): Promise<TelegramAnswer<Bot>>
  /** Waits up to `pollSeconds` for updates from this id on; earlier ones count as processed. */
  getUpdates(offset: bigint, signal: AbortSignal): Promise<TelegramAnswer<readonly Update[]>>
  sendMessage(chatId: bigint, text: string, signal: AbortSignal): Promise<TelegramAnswer<unknown>>
}

const answerShape = z.object({
  ok: z.boolean(),
  result: z.unknown().optional(),
  error_code: z.int().optional(),
  description: z.string().optional(),
  parameters: z
    .object({ retry_after: z.int().nonnegative().optional(), migrate_to_chat_id: z.int().optional() })
    .optional(),
})

const botShape = z.object({ id: z.int(), username: z.string().regex(/^[A-Za-z0-9_]{1,64}$/) })

const chatShape = z.object({
  id: z.int(),
  title: z.string().optional(),
  username: z.string().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
})

/** Kinds of updates that the bot does not know are empty, so that none can hold up those behind it. */
const updatesShape = z.array(
  z.object({
    update_id: z.int(),
    message: z.object({ chat: chatShape, text: z.string() }).optional().catch(undefined),
    my_chat_member: z
      .object({ chat: chatShape, new_chat_member: z.object({ status: z.string() }) })
      .optional()
      .catch(undefined),
  }),
)

/** Calls of the Bot API. None throws, and none returns anything that contains the token. */
export function createTelegramApi({ apiUrl, token }: TelegramSettings): TelegramApi {
  const agent = new Agent({ maxResponseSize: responseBytesMax, headersTimeout: 0, bodyTimeout: 0 })

  async function call<Result>(
    method: string,
    parameters: object,
    shape: z.ZodType<Result>,
    { msMax = callMsMax, signal }: { readonly msMax?: number; readonly signal: AbortSignal },
  ): Promise<TelegramAnswer<Result>> {
    try {
      const { statusCode, body } = await request(`${apiUrl}/bot${token}/${method}`, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'model-gateway' },
        body: JSON.stringify(parameters),
        signal: AbortSignal.any([signal, AbortSignal.timeout(msMax)]),
      })
      return readAnswer(statusCode, await body.text(), shape)
    } catch (error) {
      return { kind: 'failed', code: codeOf(error) }
    }
  }

  return {
    getMe: (signal) => call('getMe', {}, botShape, { signal }),
    async getUpdates(offset, signal) {
      const allowed = ['message', 'my_chat_member']
      const parameters = {
        offset: Number(offset),
        limit: updatesMax,
        timeout: pollSeconds,
        allowed_updates: allowed,
      }
      const msMax = pollSeconds * 1_000 + callMsMax
      const answer = await call('getUpdates', parameters, updatesShape, { msMax, signal })
      return answer.kind === 'done' ? { kind: 'done', result: answer.result.map(readUpdate) } : answer
    },
    sendMessage: (chatId, text, signal) =>
      call(
        'sendMessage',
        { chat_id: Number(chatId), text, link_preview_options: { is_disabled: true } },
        z.unknown(),
        { signal },
      ),
  }
}

function readAnswer<Result>(status: number, text: string, shape: z.ZodType<Result>): TelegramAnswer<Result> {
  const answer = answerShape.safeParse(jsonOf(text)).data
  if (answer === undefined) return { kind: 'failed', code: `HTTP ${status}` }
  if (!answer.ok)
    return {
      kind: 'refused',
      status: answer.error_code ?? status,
      description: answer.description ?? '',
      retryAfterS: answer.parameters?.retry_after,
      migrateToChatId: answer.parameters?.migrate_to_chat_id,
    }
  const result = shape.safeParse(answer.result)
  return result.success ? { kind: 'done', result: result.data } : { kind: 'failed', code: 'ERR_BAD_RESULT' }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readUpdate({ update_id, message, my_chat_member }: z.infer<typeof updatesShape>[number]): Update {
  const isOut = ['kicked', 'left'].includes(my_chat_member?.new_chat_member.status ?? '')
  return {
    updateId: update_id,
    message: message && { chatId: message.chat.id, chatName: nameOf(message.chat), text: message.text },
    leftChatId: isOut ? my_chat_member?.chat.id : undefined,
  }
}

const chatNameLengthMax = 128

/** The name that the owner sees: a title, or the name of a person; without control characters. */
function nameOf({ id, title, username, first_name, last_name }: z.infer<typeof chatShape>): string {
  const person = [first_name, last_name].filter((part) => part !== undefined).join(' ')
  const name = title ?? (person === '' ? username : person) ?? ''
  const plain = [...name.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ' ').trim()].slice(0, chatNameLengthMax).join('')
  return plain === '' ? String(id) : plain
}

/** Only a code: a message may contain the address, and with it the token. */
function codeOf(error: unknown): string {
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown }
  if (name === 'TimeoutError') return 'ETIMEDOUT'
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'ERR_UNKNOWN'
}
