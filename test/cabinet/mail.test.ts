import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { enqueueLetter, type Letter, mayStrangersWrite } from '#cabinet/mail/outbox'
import { poolAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { inTestScope } from '../support/scope.ts'
import { smtpOfThisFile } from '../support/smtp.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const smtp = await smtpOfThisFile()
const { pool } = stack.database
const cabinet = poolAs('model_gateway_cabinet', stack.database)

type Row = {
  readonly id: string
  readonly vars: object
  readonly attempts: number
  readonly sent: boolean
  readonly gaveUp: boolean
  readonly lastError: string | null
  /** From the email to its acceptance. */
  readonly tookMs: number | null
  /** From now to the next try. */
  readonly dueInMs: number
}

async function rowOf(recipient: string): Promise<Row> {
  const { rows } = await pool.query<Row>(
    `select id, vars, attempts, sent_at is not null as sent, gave_up_at is not null as "gaveUp", last_error as "lastError",
            extract(epoch from sent_at - created_at)::float8 * 1000 as "tookMs",
            extract(epoch from next_attempt_at - clock_timestamp())::float8 * 1000 as "dueInMs"
       from email_outbox where recipient = $1`,
    [recipient],
  )
  const [row] = rows
  if (row === undefined) throw new Error('no such letter')
  return row
}

const untilRow = (recipient: string, wanted: Partial<Row>) =>
  vi.waitFor(async () => {
    const row = await rowOf(recipient)
    expect(row).toMatchObject(wanted)
    return row
  })

/** What the clock would do: the pause or the lease of these emails is over. */
async function endPause(...recipients: readonly string[]): Promise<void> {
  await pool.query('update email_outbox set next_attempt_at = clock_timestamp() where recipient = any($1)', [
    recipients,
  ])
}

async function startWorker(onLine?: (line: string) => void): Promise<Process> {
  const worker = await stack.startWorker(smtp.env, onLine)
  onTestFinished(() => worker.kill())
  return worker
}

const anAddress = () => `reader-${randomBytes(6).toString('hex')}@example.com`

/** Writes an email as the cabinet does, and answers its address and its token. */
async function write(fields: { readonly recipient?: string; readonly locale?: 'ru' | 'en' } = {}) {
  const { recipient = anAddress(), locale = 'en' } = fields
  const token = randomBytes(16).toString('hex')
  const link = `https://app.example.com/reset#token=${token}`
  await enqueue({ kind: 'reset_password', vars: { link }, recipient, locale })
  return { recipient, token, link }
}

function enqueue(letter: Letter): Promise<void> {
  return inTestScope(cabinet, (client) => enqueueLetter(client, letter))
}

describe('an email', () => {
  test('is sent once, within a second, in its reader’s language, and its content is forgotten', async () => {
    await startWorker()
    await untilRow((await write()).recipient, { sent: true })
    for (const [locale, subject] of [
      ['en', 'Set a new password'],
      ['ru', 'Новый пароль'],
    ] as const) {
      const { recipient, link } = await write({ locale })
      const { id, tookMs } = await untilRow(recipient, { sent: true, attempts: 1, vars: {}, lastError: null })
      expect(tookMs).toBeLessThan(1_000)
      const [letter, ...others] = smtp.letters(recipient)
      expect(others).toEqual([])
      expect(letter).toMatchObject({
        messageId: `<${id}@gateway.example>`,
        kind: 'reset_password',
        from: 'no-reply@gateway.example',
        subject,
      })
      expect(letter?.text.split('\n')).toContain(link)
      expect(letter?.html).toContain(`href="${link}"`)
    }
  })

  test('of a transaction that fails is never sent; of two with one dedupe key, only the first is', async () => {
    await startWorker()
    const recipient = anAddress()
    const first = { kind: 'totp_enabled', vars: {}, recipient, locale: 'en', dedupeKey: recipient } as const
    const failed = inTestScope(cabinet, async (client) => {
      await enqueueLetter(client, first)
      throw new Error('rolled back')
    })
    await expect(failed).rejects.toThrow('rolled back')
    await enqueue(first)
    await enqueue({ ...first, kind: 'totp_disabled' })
    await untilRow(recipient, { sent: true })
    await untilRow((await write()).recipient, { sent: true }) // whatever was before it has been looked at
    expect(smtp.letters(recipient).map(({ kind }) => kind)).toEqual(['totp_enabled'])
  })

  test('to an address that is none, or several, is not written', async () => {
    for (const recipient of [
      'nobody',
      'a@b.example, c@d.example',
      'A <a@b.example>',
      'a@b.example\r\nBcc: c@d.example',
    ])
      await expect(write({ recipient })).rejects.toMatchObject({ code: '23514' })
  })

  test('is one of at most five that a mailbox gets in an hour, under whatever address: the sixth one waits, and is sent', async () => {
    const name = `reader.${randomBytes(6).toString('hex')}`
    const spellings = ['@gmail.com', '+a@gmail.com', '+b@googlemail.com', '@googlemail.com', '+c@gmail.com']
    const recipients = [...spellings, '+d@gmail.com', '+e@gmail.com'].map((end, n) =>
      n % 2 === 0 ? `${name}${end}` : `${name.replace('.', '')}${end}`,
    )
    for (const recipient of recipients) await write({ recipient })
    const worker = await startWorker()
    const now = recipients.slice(0, 5)
    await Promise.all(now.map((recipient) => untilRow(recipient, { sent: true })))
    const { rows } = await pool.query<{ dueInS: number; tryInS: number }>(
      `select extract(epoch from due_at - clock_timestamp())::float8 as "dueInS",
              extract(epoch from next_attempt_at - clock_timestamp())::float8 as "tryInS"
         from email_outbox where recipient = any($1) and sent_at is null`,
      [recipients],
    )
    expect(rows).toHaveLength(2)
    for (const { dueInS, tryInS } of rows) {
      expect(tryInS).toBeCloseTo(dueInS, 2)
      expect(dueInS).toBeGreaterThan(3_500)
      expect(dueInS).toBeLessThan(3_601)
    }
    // What waits for its time is not late.
    await vi.waitFor(async () => {
      expect(await readMetric(worker, 'emails_waiting')).toBe(0)
      expect(await readMetric(worker, 'emails_waiting_age_seconds')).toBe(0)
    })
    await pool.query(
      "update email_outbox set due_at = due_at - interval '1 hour', next_attempt_at = next_attempt_at - interval '1 hour' where recipient = any($1)",
      [recipients],
    )
    await Promise.all(recipients.map((recipient) => untilRow(recipient, { sent: true })))
    expect(recipients.map((recipient) => smtp.letters(recipient).length)).toEqual(recipients.map(() => 1))
  })

  test('that strangers may ask for is none of the fifth in an hour, however many ask at once', async () => {
    const [recipient, link] = [anAddress(), 'https://app.example.com/reset#token=x']
    const ask = () =>
      inTestScope(cabinet, async (client) => {
        const mayWrite = await mayStrangersWrite(client, recipient)
        if (mayWrite)
          await enqueueLetter(client, { kind: 'reset_password', vars: { link }, recipient, locale: 'en' })
        return mayWrite
      })
    const answers = await Promise.all(Array.from({ length: 12 }, ask))
    expect(answers.filter(Boolean)).toHaveLength(4)
    await write({ recipient })
    const { rows } = await pool.query(
      'select due_at <= clock_timestamp() as due from email_outbox where recipient = $1',
      [recipient],
    )
    expect(rows).toEqual(Array.from({ length: 5 }, () => ({ due: true })))
    await pool.query("update email_outbox set gave_up_at = now(), vars = '{}' where recipient = $1", [
      recipient,
    ])
  })

  test('of a kind that only a newer version knows waits for it; one that cannot be read is given up', async () => {
    const [newer, unreadable] = [anAddress(), anAddress()]
    for (const [kind, recipient] of [
      ['from_the_future', newer],
      ['reset_password', unreadable],
    ])
      await pool.query(
        `insert into email_outbox (kind, recipient, locale, vars) values ($1, $2, 'en', '{"x": 1}')`,
        [kind, recipient],
      )
    await startWorker()
    await untilRow(unreadable, { gaveUp: true, vars: {} })
    expect(await rowOf(newer)).toMatchObject({ attempts: 0, gaveUp: false })
    await pool.query("update email_outbox set gave_up_at = now(), vars = '{}' where recipient = $1", [newer])
  })
})

describe('a mail server', () => {
  test('that is down for a while gets every email once, from two workers, and its outage is one warning', async () => {
    const lines: [string[], string[]] = [[], []]
    const workers = await Promise.all(lines.map((heard) => startWorker((line) => heard.push(line))))
    await smtp.shut()
    const recipients = (await Promise.all(Array.from({ length: 30 }, () => write()))).map(
      ({ recipient }) => recipient,
    )
    await Promise.all(recipients.map((recipient) => untilRow(recipient, { lastError: 'ESOCKET CONN' })))
    await smtp.open()
    await endPause(...recipients)
    await Promise.all(recipients.map((recipient) => untilRow(recipient, { sent: true, vars: {} })))
    expect(recipients.map((recipient) => smtp.letters(recipient).length)).toEqual(recipients.map(() => 1))
    const warnings = lines.map((heard) => heard.filter((line) => line.includes('mail server failed; emails')))
    // One worker may have had all of them.
    expect(warnings.flat().length).toBeGreaterThan(0)
    expect(Math.max(...warnings.map(({ length }) => length))).toBe(1)
    const sent = await Promise.all(
      workers.map((each) => readMetric(each, 'emails_sent_total{kind="reset_password"}')),
    )
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(recipients.length)
  })

  test('that rejects a recipient for good gets the email once; one that rejects for now gets it again', async () => {
    const worker = await startWorker()
    const [refused, deferred] = [anAddress(), anAddress()]
    smtp.script(refused, { refuse: 550 })
    smtp.script(deferred, { refuse: 450 })
    await write({ recipient: refused })
    await write({ recipient: deferred })
    await untilRow(refused, { gaveUp: true, vars: {}, attempts: 1, lastError: 'EENVELOPE 550 RCPT TO' })
    const { dueInMs } = await untilRow(deferred, { gaveUp: false, lastError: 'EENVELOPE 450 RCPT TO' })
    expect(dueInMs).toBeGreaterThan(0)
    expect(dueInMs).toBeLessThan(6_250)
    smtp.script(deferred, undefined)
    await untilRow(deferred, { sent: true, attempts: 2 }) // by itself, after its pause
    expect(await readMetric(worker, 'emails_given_up_total{kind="reset_password"}')).toBe(1)
    expect(await readMetric(worker, 'emails_failed_attempts_total')).toBe(2)
  })

  test('that hangs up after the whole email gets it again, with the same Message-ID', async () => {
    await startWorker()
    const recipient = anAddress()
    smtp.script(recipient, 'drop')
    await write({ recipient })
    const { id } = await untilRow(recipient, { attempts: 1, lastError: 'ECONNECTION CONN' })
    smtp.script(recipient, undefined)
    await endPause(recipient)
    await untilRow(recipient, { sent: true })
    expect(smtp.letters(recipient).map(({ messageId }) => messageId)).toEqual(
      Array(2).fill(`<${id}@gateway.example>`),
    )
  })

  test('that stalls over one email holds up no other, and is left after a while', async () => {
    await startWorker()
    const stalled = anAddress()
    smtp.script(stalled, 'stall')
    await write({ recipient: stalled })
    await smtp.untilLetter(stalled)
    for (let n = 0; n < 5; n++) {
      const { tookMs } = await untilRow((await write()).recipient, { sent: true })
      expect(tookMs).toBeLessThan(5_000)
    }
    expect(await rowOf(stalled)).toMatchObject({ sent: false, attempts: 1, lastError: null }) // still at it
    await untilRow(stalled, { lastError: 'ETIMEDOUT CONN' })
    smtp.script(stalled, undefined)
    await endPause(stalled)
    await untilRow(stalled, { sent: true })
  })

  test('that sends no greeting is left after a while, and gets the email once it greets', async () => {
    await startWorker()
    smtp.greet('never')
    const { recipient } = await write()
    await untilRow(recipient, { attempts: 1, lastError: 'ETIMEDOUT CONN' })
    smtp.greet('at once')
    await endPause(recipient)
    await untilRow(recipient, { sent: true })
    expect(smtp.letters(recipient)).toHaveLength(1)
  })
})

describe('a worker', () => {
  test('that is killed when the server has the email leaves it to another one, after the lease', async () => {
    const killed = await startWorker()
    const recipient = anAddress()
    smtp.script(recipient, 'stall')
    await write({ recipient })
    const { messageId } = await smtp.untilLetter(recipient)
    await killed.kill()
    smtp.script(recipient, undefined)
    await startWorker()
    await untilRow((await write()).recipient, { sent: true })
    expect(await rowOf(recipient)).toMatchObject({ sent: false, attempts: 1 }) // leased to the dead one
    await endPause(recipient)
    await untilRow(recipient, { sent: true, attempts: 2 })
    expect(smtp.letters(recipient).map((copy) => copy.messageId)).toEqual([messageId, messageId])
  })

  test('logs neither addresses nor tokens, whatever becomes of an email', async () => {
    const lines: string[] = []
    const worker = await startWorker((line) => lines.push(line))
    const outcomes = [undefined, { refuse: 550 }, { refuse: 450 }, 'drop'] as const
    const letters = await Promise.all(
      outcomes.map(async (reception) => {
        const recipient = anAddress()
        smtp.script(recipient, reception)
        return write({ recipient })
      }),
    )
    await vi.waitFor(async () => {
      const rows = await Promise.all(letters.map(({ recipient }) => rowOf(recipient)))
      expect(rows.filter(({ sent, lastError }) => sent || lastError !== null)).toHaveLength(outcomes.length)
    })
    const rows = await pool.query('select last_error from email_outbox')
    const metrics = await (await fetch(`${worker.adminUrl}/metrics`)).text()
    expect(lines.join('\n')).toContain('email sent')
    const said = [...lines, metrics, JSON.stringify(rows.rows)].join('\n')
    for (const { recipient, token } of letters) {
      expect(said).not.toContain(recipient.split('@')[0])
      expect(said).not.toContain(token)
      smtp.script(recipient, undefined)
    }
    await endPause(...letters.map(({ recipient }) => recipient))
    await Promise.all(letters.slice(2).map(({ recipient }) => untilRow(recipient, { sent: true })))
  })

  test('with a login sends neither it nor an email to a server that has no TLS', async () => {
    const lines: string[] = []
    const url = smtp.env.SMTP_URL.replace('smtp://', 'smtp://relay:hunter2@')
    const worker = await stack.startWorker({ ...smtp.env, SMTP_URL: url }, (line) => lines.push(line))
    onTestFinished(() => worker.kill())
    const { recipient } = await write()
    const { lastError } = await untilRow(recipient, {
      attempts: 1,
      lastError: expect.stringMatching(/^ETLS .*STARTTLS$/) as string,
    })
    expect(smtp.letters(recipient)).toEqual([])
    expect([lastError, ...lines].join('\n')).not.toContain('hunter2')
    await worker.kill()
    await startWorker()
    await endPause(recipient)
    await untilRow(recipient, { sent: true })
  })

  test('without a mail server logs once that emails wait, and measures how many and since when', async () => {
    const lines: string[] = []
    const worker = await stack.startWorker({}, (line) => lines.push(line))
    onTestFinished(() => worker.kill())
    const { recipient } = await write()
    await vi.waitFor(async () => expect(await readMetric(worker, 'emails_waiting')).toBe(1))
    await vi.waitFor(async () =>
      expect(await readMetric(worker, 'emails_waiting_age_seconds')).toBeGreaterThan(2),
    )
    expect(lines.filter((line) => line.includes('SMTP_URL is not set'))).toHaveLength(1)
    expect((await fetch(`${worker.adminUrl}/readyz`)).status).toBe(200)
    expect(await rowOf(recipient)).toMatchObject({ attempts: 0 })
    const sending = await startWorker()
    await untilRow(recipient, { sent: true })
    await vi.waitFor(async () => expect(await readMetric(sending, 'emails_waiting')).toBe(0))
    expect(await readMetric(sending, 'emails_waiting_age_seconds')).toBe(0)
  })

  test('removes emails that ended long ago, and none that still waits', async () => {
    const [ended, waiting] = [anAddress(), anAddress()]
    await pool.query(
      `insert into email_outbox (kind, recipient, locale, vars, created_at, sent_at)
       values ('totp_enabled', $1, 'en', '{}', now() - interval '91 days', now() - interval '91 days'),
              ('from_the_future', $2, 'en', '{}', now() - interval '91 days', null)`,
      [ended, waiting],
    )
    await startWorker()
    await vi.waitFor(() => expect(rowOf(ended)).rejects.toThrow('no such letter'))
    expect(await rowOf(waiting)).toMatchObject({ attempts: 0 })
    await expect(pool.query('delete from email_outbox where recipient = $1', [waiting])).rejects.toThrow(
      'not allowed',
    )
    await pool.query('update email_outbox set gave_up_at = now() where recipient = $1', [waiting])
  })
})

test('an email that has ended cannot keep its content', async () => {
  const { recipient } = await write()
  for (const column of ['sent_at', 'gave_up_at'])
    await expect(
      pool.query(`update email_outbox set ${column} = now() where recipient = $1`, [recipient]),
    ).rejects.toMatchObject({ code: '23514' })
})
