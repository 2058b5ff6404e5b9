import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import { type DueMessage, noteNotSent, noteSent, postponeMessages, takeDueMessage } from './due-telegram.ts'
import type { TelegramMetrics } from './metrics.ts'
import { callMsMax, pollSeconds, type TelegramAnswer, type TelegramApi, type Update } from './telegram-api.ts'
import {
  noteBot,
  noteFailure,
  noteProcessed,
  noteWorking,
  pauseFor,
  releasePolling,
  takePolling,
} from './telegram-bot.ts'
import { type EndedReason, endLinks, findOrganizationOfCode, linkChat, moveChat } from './telegram-links.ts'
import { enqueueTelegram } from './telegram-outbox.ts'
import { pauseAfter, pauseOfServer } from './webhook-backoff.ts'

const everyMs = 2_000
/** Longer than a call for updates and what is done with them. */
const pollLeaseMs = pollSeconds * 1_000 + 2 * callMsMax
/** Longer than an attempt and its record. */
const sendLeaseMs = 2 * callMsMax
/** Longest that Telegram's `retry_after` is obeyed. */
const retryAfterSecondsMax = 3_600
/** A wrong token may be replaced by a restart only. */
const wrongTokenPauseMs = 300_000
/** Another installation reads the updates of the same bot, or the bot has a webhook: only a person can end that. */
const conflictPauseMs = 60_000

const actor = { kind: 'job', name: 'telegram' } as const

type Deps = {
  readonly pool: Pool
  readonly metrics: TelegramMetrics
  readonly log: Log
  readonly api: TelegramApi
}

/** Jobs of the bot: one reads what users send to it, the other sends alerts. Both wait while Telegram fails; nothing else does. */
export function telegramJobs(deps: Deps): readonly Job[] {
  return [updatesJob(deps), messagesJob(deps)]
}

/** Reads updates by long polling, in one worker at a time. An update that was being processed by a killed worker is processed again, without harm. */
function updatesJob({ pool, log, api, ...deps }: Deps): Job {
  const poller = randomUUID()
  let isBotKnown = false
  let conflictUntilMs = 0
  return {
    name: 'telegram_updates',
    everyMs,
    mayFail: true, // the rest of the worker does its work without the bot
    async run(stopping) {
      const polling = await takePolling(pool, poller, pollLeaseMs)
      if (polling === undefined || polling.isPaused || Date.now() < conflictUntilMs) return 'idle'
      try {
        if (!isBotKnown) {
          const bot = await api.getMe(stopping)
          if (bot.kind !== 'done') return await noteRefusal(bot)
          await noteBot(pool, bot.result)
          isBotKnown = true
          return 'more' // the number of the next update depends on the bot
        }
        const updates = await api.getUpdates(polling.nextUpdateId, stopping)
        if (updates.kind !== 'done') return await noteRefusal(updates)
        await noteWorking(pool)
        for (const update of updates.result) {
          await act(pool, update)
          await noteProcessed(pool, update.updateId)
        }
        return 'more'
      } finally {
        if (stopping.aborted) await releasePolling(pool, poller)
      }

      async function noteRefusal(
        answer: Exclude<TelegramAnswer<unknown>, { kind: 'done' }>,
      ): Promise<'idle'> {
        if (stopping.aborted) return 'idle' // no fault of Telegram
        if (answer.kind === 'refused' && answer.status === 409) {
          conflictUntilMs = Date.now() + conflictPauseMs // messages go on
          log.error(
            { why: codeOf(answer) },
            'updates of the Telegram bot are read elsewhere: use its token in one installation, without a webhook',
          )
          return 'idle'
        }
        const why = await notePause({ pool, log, api, ...deps }, answer)
        log.warn({ why }, 'Telegram did not return updates; retried later')
        return 'idle'
      }
    },
  }
}

/** Links a chat, or ends its links. Anything else is ignored: strangers may write to a bot, and get no response. */
async function act(pool: Pool, { message, leftChatId }: Update): Promise<void> {
  if (leftChatId !== undefined) return endLinks(pool, leftChatId, 'blocked')
  if (message === undefined) return
  const { chatId, chatName, text } = message
  const [, command, code] = /^\/(start|stop)(?:@\w{1,64})?(?: ([\w-]{1,64}))?$/.exec(text.trim()) ?? []
  if (command === 'stop') return endLinks(pool, chatId, 'stopped')
  if (command !== 'start' || code === undefined) return
  const organizationId = await findOrganizationOfCode(pool, code)
  if (organizationId === undefined) return
  await inScope(pool, { actor, organizationId }, async (client) => {
    if (await linkChat(client, { code, chatId, chatName }))
      await enqueueTelegram(client, organizationId, { type: 'linked' })
  })
}

/**
 * Sends messages one after the other: Telegram accepts about one per second and chat, and asks to wait for more. Then only the
 * messages of that organization wait.
 */
function messagesJob(deps: Deps): Job {
  return {
    name: 'telegram_messages',
    everyMs,
    wokenBy: ['telegram'],
    mayFail: true,
    async run(_stopping, ending) {
      const message = await takeDueMessage(deps.pool, sendLeaseMs)
      if (message === undefined) return 'idle'
      await send(deps, message, ending)
      return 'more'
    },
  }
}

async function send(deps: Deps, message: DueMessage, ending: AbortSignal): Promise<void> {
  const { pool, metrics, api } = deps
  const { organizationId, chatId, event } = message
  const giveUp = async (why: string) => {
    await noteNotSent(pool, message, { why, pauseMs: undefined })
    metrics.givenUp.inc({ event })
  }
  if (chatId === null) return giveUp('ERR_NO_CHAT')
  const answer = await api.sendMessage(chatId, message.body, ending)
  if (answer.kind === 'done') {
    await noteSent(pool, message)
    await noteWorking(pool)
    metrics.delivered.inc({ event })
    return
  }
  if (ending.aborted) return // no fault of Telegram; another worker sends it when the lease ends
  metrics.failedAttempts.inc()
  const ended = findEnd(answer)
  if (ended !== undefined) {
    await endLinks(pool, chatId, ended)
    return giveUp(codeOf(answer))
  }
  if (answer.kind === 'refused' && answer.migrateToChatId !== undefined) {
    const moved = { from: chatId, to: answer.migrateToChatId }
    await inScope(pool, { actor, organizationId }, (client) => moveChat(client, organizationId, moved))
    return noteNotSent(pool, message, { why: codeOf(answer), pauseMs: 0 })
  }
  if (answer.kind === 'refused' && answer.status === 400) return giveUp(codeOf(answer))
  const backoffMs = pauseAfter({ ...message, random: Math.random() })
  const waitMs = waitOf(answer)
  const why = waitMs === undefined ? await notePause(deps, answer) : codeOf(answer)
  const pauseMs = backoffMs === undefined ? undefined : (waitMs ?? backoffMs)
  await noteNotSent(pool, message, { why, pauseMs })
  if (waitMs !== undefined) await postponeMessages(pool, organizationId, waitMs)
  if (pauseMs === undefined) metrics.givenUp.inc({ event })
}

/** How long Telegram asks to wait, in ms; `undefined`: it does not. Pure. */
function waitOf(answer: TelegramAnswer<unknown>): number | undefined {
  if (answer.kind !== 'refused' || answer.status !== 429) return undefined
  return 1_000 * Math.min(Math.max(answer.retryAfterS ?? 1, 1), retryAfterSecondsMax)
}

/** Why a chat can get no more messages; `undefined`: it can. Pure. */
function findEnd(answer: TelegramAnswer<unknown>): EndedReason | undefined {
  if (answer.kind !== 'refused') return undefined
  if (answer.status === 403) return 'blocked'
  return answer.status === 400 && /chat not found/i.test(answer.description) ? 'not_found' : undefined
}

/** All calls wait: as long as Telegram asks, or longer with each failure in a row. Returns why. */
async function notePause(
  { pool, log }: Deps,
  answer: Exclude<TelegramAnswer<unknown>, { readonly kind: 'done' }>,
): Promise<string> {
  const why = codeOf(answer)
  const waitMs = waitOf(answer)
  if (waitMs !== undefined) await pauseFor(pool, waitMs)
  else if (answer.kind === 'refused' && (answer.status === 401 || answer.status === 404)) {
    await pauseFor(pool, wrongTokenPauseMs)
    log.error({ why }, 'Telegram does not accept the token of the bot: check TELEGRAM_BOT_TOKEN')
  } else await noteFailure(pool, (failures) => pauseOfServer({ failures, random: Math.random() }))
  return why
}

/** Nothing of the answer's text: a proxy may repeat the address in it. */
function codeOf(answer: Exclude<TelegramAnswer<unknown>, { readonly kind: 'done' }>): string {
  return answer.kind === 'failed' ? answer.code : `HTTP ${answer.status}`
}
