import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import { createNoteOutage, type NoteOutage } from '#core/process/outage-note'
import {
  type DueLetter,
  noteFailedTry,
  noteGivenUp,
  noteSent,
  readWaitingLetters,
  removeOldLetters,
  takeDueLetter,
} from './internal/due-letters.ts'
import { isServerAway, judgeFailedTry } from './internal/failed-try.ts'
import { letterContentSchema } from './internal/letter-content.ts'
import { writeLetter } from './internal/letters.ts'
import { createMailMetrics, type MailMetrics } from './internal/metrics.ts'
import { createPostOffice, type PostOffice, tryMsMax } from './internal/post-office.ts'
import type { Sender, SmtpServer } from './mail-settings.ts'

/** Emails that one worker sends concurrently. A stalled email does not block the others. */
const laneCount = 4
/** Longer than an attempt and its record, so that an email has one sender unless that sender hangs. */
const leaseMs = 2 * tryMsMax
/** An email is sent at most this long after it is due, even if its hint was lost. */
const sendEveryMs = 2_000
const measureEveryMs = 2_000
const removeEveryMs = 3_600_000
/** Long enough to investigate "I never got it". The rows contain addresses, so no longer. */
const keptDays = 90
const removeCountMax = 1_000

type Deps = { readonly pool: Pool; readonly registry: Registry; readonly log: Log }

/** The mail server and the sender; `undefined` if not configured. */
type Mail = { readonly server: SmtpServer; readonly from: Sender } | undefined

/** Sends the emails in the outbox, and measures the backlog. Without a mail server, emails wait in the outbox. */
export function mailJobs({ pool, registry, log }: Deps, mail: Mail): readonly Job[] {
  const metrics = createMailMetrics(registry)
  const others = [measureJob(pool, metrics), removeJob(pool)]
  if (mail === undefined) {
    log.warn({}, 'SMTP_URL is not set; emails wait in email_outbox until it is')
    return others
  }
  const note = createNoteOutage(log, {
    away: 'mail server failed; emails will be retried',
    back: 'mail server accepts emails again',
  })
  const deps = { pool, metrics, log, note, postOffice: createPostOffice(mail.server, mail.from) }
  return [...Array.from({ length: laneCount }, () => laneJob(deps)), ...others]
}

type LaneDeps = {
  readonly pool: Pool
  readonly metrics: MailMetrics
  readonly log: Log
  readonly note: NoteOutage
  readonly postOffice: PostOffice
}

/** One lane: sends due emails one after the other. */
function laneJob(deps: LaneDeps): Job {
  return {
    name: 'mail',
    everyMs: sendEveryMs,
    wokenBy: ['letters'],
    async run(_stopping, ending) {
      const letter = await takeDueLetter(deps.pool, leaseMs)
      if (letter === undefined) return 'idle'
      await sendLetter(deps, letter, ending)
      return 'more'
    },
  }
}

/**
 * Makes one attempt and records the result. If the worker dies in between, another worker takes the email when the
 * lease expires.
 */
async function sendLetter(deps: LaneDeps, letter: DueLetter, ending: AbortSignal): Promise<void> {
  const { pool, metrics, log, note, postOffice } = deps
  const content = letterContentSchema.safeParse(letter)
  if (!content.success) return giveUp(deps, letter, 'its vars do not match its kind')
  const text = writeLetter(content.data, letter.locale)
  const error = await postOffice.send(letter, text, ending).then(
    () => undefined,
    (thrown: unknown) => thrown ?? new Error('nothing was thrown'),
  )
  if (error === undefined) {
    await noteSent(pool, letter.id)
    metrics.sent.inc({ kind: letter.kind })
    log.info(factsOf(letter), 'email sent')
    return note('answers', {})
  }
  metrics.failedTries.inc()
  const judged = judgeFailedTry(error, { ...letter, random: Math.random() })
  const isAway = isServerAway(error)
  note(isAway ? 'is unavailable' : 'answers', { why: judged.why })
  if (judged.pauseMs === undefined) return giveUp(deps, letter, judged.why)
  if (!isAway) log.warn({ ...factsOf(letter), why: judged.why }, 'email not accepted; will be retried')
  await noteFailedTry(pool, letter, judged.pauseMs, judged.why)
}

async function giveUp({ pool, metrics, log }: LaneDeps, letter: DueLetter, why: string): Promise<void> {
  await noteGivenUp(pool, letter, why)
  metrics.givenUp.inc({ kind: letter.kind })
  log.error({ ...factsOf(letter), why }, 'email cannot be sent; given up')
}

/** Fields of an email for logs: not the recipient's address. */
function factsOf({ id, kind, recipient, attempts }: DueLetter) {
  const domain = recipient.slice(recipient.lastIndexOf('@'))
  return { letterId: id, kind, recipient: `…${domain}`, attempts }
}

function measureJob(pool: Pool, metrics: MailMetrics): Job {
  return {
    name: 'emails',
    everyMs: measureEveryMs,
    mayFail: true,
    async run() {
      const { count, oldestAgeSeconds } = await readWaitingLetters(pool)
      metrics.waiting.set(count)
      metrics.waitingAge.set(oldestAgeSeconds)
      return 'idle'
    },
  }
}

function removeJob(pool: Pool): Job {
  return {
    name: 'emails_removal',
    everyMs: removeEveryMs,
    async run() {
      return (await removeOldLetters(pool, keptDays, removeCountMax)) === removeCountMax ? 'more' : 'idle'
    },
  }
}
