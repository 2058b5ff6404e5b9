import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import { createNoteOutage, type NoteOutage } from '../process/outage-note.ts'
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
import type { Sender, SmtpServer } from './settings.ts'

/** Letters that one worker sends at a time: one that stalls holds up no other. */
const laneCount = 4
/** Longer than a try and the note after it: a letter has one sender, unless that one stands still. */
const leaseMs = 2 * tryMsMax
/** A letter leaves at most this long after it is due, even if its hint was lost. */
const sendEveryMs = 2_000
const measureEveryMs = 2_000
const removeEveryMs = 3_600_000
/** Long enough to answer "I never got it". They hold addresses, so no longer. */
const keptDays = 90
const removeCountMax = 1_000

type Deps = { readonly pool: Pool; readonly registry: Registry; readonly log: Log }

/** Where letters go, and whom they come from; `undefined`: nowhere yet. */
type Mail = { readonly server: SmtpServer; readonly from: Sender } | undefined

/** Sends what is in the outbox, and measures what waits there. Without a mail server letters wait for one. */
export function mailJobs({ pool, registry, log }: Deps, mail: Mail): readonly Job[] {
  const metrics = createMailMetrics(registry)
  const others = [measureJob(pool, metrics), removeJob(pool)]
  if (mail === undefined) {
    log.warn({}, 'SMTP_URL is not set: letters wait in email_outbox until a worker has it')
    return others
  }
  const note = createNoteOutage(log, {
    away: 'the mail server failed; its letters will be tried again',
    back: 'the mail server accepts letters again',
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

/** One of the lanes: sends one due letter after the other. */
function laneJob(deps: LaneDeps): Job {
  return {
    name: 'mail',
    everyMs: sendEveryMs,
    wokenBy: ['letters'],
    async run() {
      const letter = await takeDueLetter(deps.pool, leaseMs)
      if (letter === undefined) return 'idle'
      await sendLetter(deps, letter)
      return 'more'
    },
  }
}

/** Tries once, and notes how it ended. A worker that dies in between leaves the letter to the next one, after the lease. */
async function sendLetter(deps: LaneDeps, letter: DueLetter): Promise<void> {
  const { pool, metrics, log, note, postOffice } = deps
  const content = letterContentSchema.safeParse(letter)
  if (!content.success) return giveUp(deps, letter, 'its vars are not those of its kind')
  const text = writeLetter(content.data, letter.locale)
  const error = await postOffice.send(letter, text).then(
    () => undefined,
    (thrown: unknown) => thrown ?? new Error('nothing was thrown'),
  )
  if (error === undefined) {
    await noteSent(pool, letter.id)
    metrics.sent.inc({ kind: letter.kind })
    log.info(factsOf(letter), 'a letter was sent')
    return note('answers', {})
  }
  metrics.failedTries.inc()
  const judged = judgeFailedTry(error, { ...letter, random: Math.random() })
  const isAway = isServerAway(error)
  note(isAway ? 'is away' : 'answers', { why: judged.why })
  if (judged.pauseMs === undefined) return giveUp(deps, letter, judged.why)
  if (!isAway)
    log.warn({ ...factsOf(letter), why: judged.why }, 'a letter was not accepted and will be tried again')
  await noteFailedTry(pool, letter, judged.pauseMs, judged.why)
}

async function giveUp({ pool, metrics, log }: LaneDeps, letter: DueLetter, why: string): Promise<void> {
  await noteGivenUp(pool, letter, why)
  metrics.givenUp.inc({ kind: letter.kind })
  log.error({ ...factsOf(letter), why }, 'a letter cannot be sent and was given up')
}

/** What a log may say about a letter: not whose address it goes to. */
function factsOf({ id, kind, recipient, attempts }: DueLetter) {
  const domain = recipient.slice(recipient.lastIndexOf('@'))
  return { letterId: id, kind, recipient: `…${domain}`, attempts }
}

function measureJob(pool: Pool, metrics: MailMetrics): Job {
  return {
    name: 'letters',
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
    name: 'letters_removal',
    everyMs: removeEveryMs,
    async run() {
      return (await removeOldLetters(pool, keptDays, removeCountMax)) === removeCountMax ? 'more' : 'idle'
    },
  }
}
