import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { listeningPort } from '#core/process/listening-port'

type Update = { readonly update_id: number; readonly [field: string]: unknown }
/** An error of the Bot API. */
type Refusal = { readonly code: number; readonly description: string; readonly parameters?: object }
type Outcome = Refusal | { readonly result: unknown }

/** Of the wall clock: a long poll of 25 s takes a quarter of a second. */
const pollScale = 0.01

const getUpdatesShape = z.strictObject({
  offset: z.int().optional(),
  limit: z.int().min(1).max(100).optional(),
  timeout: z.int().min(0).max(50).optional(),
  allowed_updates: z.array(z.enum(['message', 'my_chat_member'])).optional(),
})

const sendMessageShape = z.strictObject({
  chat_id: z.int(),
  text: z.string().refine((given) => given.trim() !== '' && [...given].length <= 4096),
  link_preview_options: z.strictObject({ is_disabled: z.boolean() }).optional(),
})

const bot = { id: 1_234_567, is_bot: true, first_name: 'Gateway', username: 'gateway_bot' }
const refuse = (code: number, description: string): Refusal => ({ code, description })
const chatOf = (id: number) => ({ id, type: 'private', first_name: 'Анна', last_name: `№ ${id}` })

/**
 * A Bot API (https://core.telegram.org/bots/api), as strict as its documentation: only known methods and parameters, only
 * chats that have written to the bot, only one poll at a time, and updates until they are confirmed by a higher offset.
 */
export async function startTelegram(token = `1234567:${'A'.repeat(35)}`) {
  const queue = createQueue()
  const chats = createChats()
  const calls: string[] = []
  const refusals: Refusal[] = []
  let isDown = false

  function run(method: string, body: unknown): Outcome | Promise<Outcome> {
    if (method === 'getMe') return { result: bot }
    const scripted = refusals.shift()
    if (scripted !== undefined) return scripted
    if (method === 'getUpdates') return queue.poll(getUpdatesShape.parse(body))
    return method === 'sendMessage' ? chats.send(body) : refuse(404, 'Not Found')
  }

  const server = createServer(async (request, response) => {
    const body = await text(request)
    const [, given, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? []
    calls.push(method)
    if (isDown) return void response.writeHead(502).end(`<p>Bad gateway: ${request.url}</p>`)
    const outcome = given === token ? await run(method, JSON.parse(body)) : refuse(401, 'Unauthorized')
    const answer =
      'code' in outcome
        ? { ok: false, error_code: outcome.code, ...outcome, code: undefined }
        : { ok: true, result: outcome.result }
    response.writeHead('code' in outcome ? outcome.code : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    ...queue,
    ...chats,
    token,
    apiUrl: `http://127.0.0.1:${listeningPort(server)}`,
    /** The methods that were called. */
    calls,
    /** A user writes to the bot. */
    write(chatId: number, words: string): void {
      chats.open(chatId)
      queue.add({ message: { message_id: 1, date: 0, chat: chatOf(chatId), text: words } })
    },
    /** A user blocks the bot; `isTold`: Telegram sends an update. */
    block(chatId: number, { isTold }: { readonly isTold: boolean }): void {
      chats.close(chatId)
      const update = { chat: chatOf(chatId), date: 0, new_chat_member: { status: 'kicked' } }
      if (isTold) queue.add({ my_chat_member: update })
    },
    /** The next calls, but those of getMe, are answered so. */
    refuseNext: (...next: readonly Refusal[]) => refusals.push(...next),
    /** Whether every call gets an error of a proxy that repeats its address. */
    setDown(down: boolean): void {
      isDown = down
    },
    stop(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}

function createQueue() {
  const conflicts: number[] = []
  let updates: Update[] = []
  let nextId = 1_000
  let endPoll: (() => void) | undefined
  return {
    /** Polls while another one was waiting. */
    conflicts,
    /** Any update, also of a kind that the bot does not know. */
    add(fields: object): void {
      updates.push({ update_id: nextId++, ...fields })
      endPoll?.()
    },
    /** Ids begin at another number, as after a week without updates. */
    renumber(from: number): void {
      nextId = from
    },
    async poll({ offset, limit = 100, timeout = 0 }: z.infer<typeof getUpdatesShape>): Promise<Outcome> {
      if (endPoll !== undefined) {
        endPoll()
        conflicts.push(nextId)
        return refuse(409, 'Conflict: terminated by other getUpdates request')
      }
      if (offset !== undefined) updates = updates.filter(({ update_id }) => update_id >= offset)
      if (updates.length === 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeout * 1_000 * pollScale)
          endPoll = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      endPoll = undefined
      return { result: updates.slice(0, limit) }
    },
  }
}

function createChats() {
  const open = new Set<number>()
  const blocked = new Set<number>()
  const sent: { readonly chatId: number; readonly text: string }[] = []
  return {
    open: (chatId: number) => open.add(chatId),
    close: (chatId: number) => blocked.add(chatId),
    /** From now on a group has another id; returns the error that its next message gets. */
    moveChat(from: number, to: number): Refusal {
      open.delete(from)
      open.add(to)
      const why = 'Bad Request: group chat was upgraded to a supergroup chat'
      return { ...refuse(400, why), parameters: { migrate_to_chat_id: to } }
    },
    /** The texts that a chat got. */
    sentTo: (chatId: number) => sent.filter((each) => each.chatId === chatId).map((each) => each.text),
    send(given: unknown): Outcome {
      const { data } = sendMessageShape.safeParse(given)
      if (data === undefined) return refuse(400, 'Bad Request: message text is empty')
      if (!open.has(data.chat_id)) return refuse(400, 'Bad Request: chat not found')
      if (blocked.has(data.chat_id)) return refuse(403, 'Forbidden: bot was blocked by the user')
      sent.push({ chatId: data.chat_id, text: data.text })
      return { result: { message_id: sent.length, date: 0, chat: chatOf(data.chat_id), text: data.text } }
    },
  }
}
