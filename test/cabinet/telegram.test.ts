import { randomInt } from 'node:crypto'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, expect, test } from 'vitest'
import { takeDueMessage } from '#cabinet/notifications/internal/due-telegram'
import { notificationJobs } from '#cabinet/notifications/notification-jobs'
import { createKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import type { Job } from '#core/process/job'
import { lowBalanceJob } from '#worker/low-balance-job'
import { cabinetOfThisFile, lettersTo, type SignedUp, signUp } from '../support/cabinet.ts'
import { entryOf, pepper } from '../support/customer.ts'
import { poolAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { startTelegram } from '../support/telegram.ts'

/** Alerts by a bot, as workers find and send them, with their role and against a scripted Telegram. */
const cabinet = await cabinetOfThisFile()
const { pool } = cabinet
const workerPool = poolAs('model_gateway_worker', cabinet.database)
const telegram = await startTelegram()
afterAll(() => telegram.stop())

const lines: string[] = []
const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })

const newWorker = ({ apiUrl = telegram.apiUrl, token = telegram.token } = {}) =>
  notificationJobs(
    { pool: workerPool, registry: new Registry(), log },
    { allowedCidrs: [], telegram: { apiUrl, token } },
  )
const worker = newWorker()
const signal = new AbortController().signal

function runOnce(name: string, { among = worker, stopping = signal } = {}): ReturnType<Job['run']> {
  const job = among.find((each) => each.name === name)
  if (job === undefined) throw new Error(`there is no job ${name}`)
  return job.run(stopping, stopping)
}
/** Reads the updates that there are. */
async function readUpdates(among: readonly Job[] = worker): Promise<void> {
  await pool.query(`update telegram_bot set polled_until = '-infinity'`)
  await runOnce('telegram_updates', { among })
  await runOnce('telegram_updates', { among })
}
async function sendMessages(): Promise<void> {
  while ((await runOnce('telegram_messages')) === 'more');
}
async function work(): Promise<void> {
  await pool.query(`update notification_settings set next_check_at = '-infinity'`)
  while ((await runOnce('alerts')) === 'more');
  await sendMessages()
}
/** As if the pauses of the bot and of its messages were over. */
const letRetry = async () => {
  await pool.query(`update telegram_bot set paused_until = '-infinity'`)
  await pool.query('update telegram_outbox set next_attempt_at = now() where sent_at is null')
}
afterEach(async () => {
  telegram.setDown(false)
  await pool.query(`update telegram_bot set paused_until = '-infinity', failures = 0`)
  await pool.query(
    'update telegram_outbox set gave_up_at = now() where sent_at is null and gave_up_at is null',
  )
})

await readUpdates()

type Owner = SignedUp & { readonly chatId: number }

const newOwner = async (): Promise<Owner> => ({ ...(await signUp(cabinet)), chatId: randomInt(1, 2 ** 47) })
async function codeOf({ visitor }: SignedUp): Promise<string> {
  const { status, body } = await visitor.post('/notifications/telegram')
  expect(status).toBe(200)
  const [, code = ''] = /^https:\/\/t\.me\/gateway_bot\?start=([\w-]{22})$/.exec(body.url) ?? []
  expect(code).not.toBe('')
  return code
}
/** An owner who has linked a chat; without the message about it. */
async function newLinked(): Promise<Owner> {
  const owner = await newOwner()
  telegram.write(owner.chatId, `/start ${await codeOf(owner)}`)
  await readUpdates()
  await sendMessages()
  expect(telegram.sentTo(owner.chatId)).toHaveLength(1)
  return owner
}
const shown = async ({ visitor }: SignedUp) => (await visitor.get('/notifications')).body.telegram
const sendTest = async ({ visitor }: SignedUp) =>
  expect((await visitor.post('/notifications/test')).body.telegram).toBe(true)
const alertsOf = ({ chatId }: Owner) => telegram.sentTo(chatId).slice(1)

test('a chat is linked by its link, once, and gets each alert once, in the language of its owner', async () => {
  const owner = await newOwner()
  expect(await shown(owner)).toEqual({
    status: 'off',
    chat_name: null,
    ended_reason: null,
    last_delivery: null,
  })
  await owner.visitor.call('PATCH', '/me', { locale: 'ru' })
  const code = await codeOf(owner)
  telegram.write(owner.chatId, `/start ${code}`)
  telegram.write(owner.chatId + 1, `/start ${code}`)
  await readUpdates()
  await sendMessages()
  expect(await shown(owner)).toMatchObject({
    status: 'linked',
    chat_name: `Анна № ${owner.chatId}`,
    last_delivery: { event: 'linked', status: 'delivered', attempts: 1, error_code: null },
  })
  expect(telegram.sentTo(owner.chatId)[0]).toContain('Чат подключён')
  expect(telegram.sentTo(owner.chatId + 1)).toEqual([])

  await owner.visitor.call('PATCH', '/notifications', { budgets: true })
  const { keyId } = await inTestScope(pool, (client) =>
    createKey(
      client,
      {
        organizationId: owner.organizationId,
        name: 'production',
        managedBy: 'cabinet',
        dailyBudgetNano: nanoRub(10_000_000_000n),
      },
      pepper,
    ),
  )
  for (const nano of [5_000_000_000n, 3_000_000_000n]) {
    await postBatch(pool, [entryOf({ organizationId: owner.organizationId, keyId }, nano)])
    await work()
    await work()
  }
  expect(alertsOf(owner)).toEqual([
    expect.stringContaining('ключ production: потрачено 50 % бюджета на день, 5,00 ₽ из 10,00 ₽.'),
    expect.stringContaining('ключ production: потрачено 80 % бюджета на день, 8,00 ₽ из 10,00 ₽.'),
  ])
  expect(alertsOf(owner)[0]).toContain('/app/keys')
  await pool.query('update organizations set low_balance_threshold_nano = 1000000000000 where id = $1', [
    owner.organizationId,
  ])
  while ((await lowBalanceJob(workerPool).run(signal, signal)) === 'more');
  await sendMessages()
  expect(alertsOf(owner)[2]).toContain('это ниже порога 1000,00 ₽.')
})

test('a code works for 15 minutes, until the next one is made, and only in the message of a start', async () => {
  const owner = await newOwner()
  const first = await codeOf(owner)
  const second = await codeOf(owner)
  telegram.write(owner.chatId, `/start ${first}`)
  telegram.write(owner.chatId, second)
  telegram.write(owner.chatId, `/start ${second} ${second}`)
  telegram.write(owner.chatId, '/start')
  telegram.write(owner.chatId, `/stop ${'x'.repeat(4_000)}`)
  telegram.add({ message: { chat: 'none' } })
  telegram.add({ poll: { id: '1' } })
  await readUpdates()
  expect((await shown(owner)).status).toBe('off')
  await pool.query('update telegram_links set code_expires_at = now() where organization_id = $1', [
    owner.organizationId,
  ])
  telegram.write(owner.chatId, `/start ${second}`)
  await readUpdates()
  expect((await shown(owner)).status).toBe('off')
  telegram.write(owner.chatId, `/start@gateway_bot ${await codeOf(owner)}`)
  await readUpdates()
  expect((await shown(owner)).status).toBe('linked')
  await sendMessages()
  expect(telegram.sentTo(owner.chatId)).toHaveLength(1)
})

test('a message waits as long as Telegram asks, is sent once, and holds up no other organization', async () => {
  const [owner, other] = [await newLinked(), await newLinked()]
  await sendTest(owner)
  await sendTest(owner)
  await sendTest(other)
  telegram.refuseNext({
    code: 429,
    description: 'Too Many Requests: retry after 37',
    parameters: { retry_after: 37 },
  })
  await sendMessages()
  const { rows } = await pool.query(
    `select extract(epoch from next_attempt_at - now())::float8 as seconds from telegram_outbox
      where organization_id = $1 and sent_at is null`,
    [owner.organizationId],
  )
  expect(rows).toHaveLength(2)
  for (const { seconds } of rows) {
    expect(seconds).toBeGreaterThan(35)
    expect(seconds).toBeLessThan(38)
  }
  expect([alertsOf(owner).length, alertsOf(other).length]).toEqual([0, 1])
  const before = telegram.calls.length
  await sendMessages()
  expect(telegram.calls).toHaveLength(before)
  await letRetry()
  await sendMessages()
  await sendMessages()
  expect(alertsOf(owner)).toHaveLength(2)
})

test('when Telegram asks to wait for updates, all calls wait', async () => {
  const owner = await newLinked()
  telegram.refuseNext({ code: 429, description: 'Too Many Requests', parameters: { retry_after: 37 } })
  await readUpdates()
  await sendTest(owner)
  const before = telegram.calls.length
  await sendMessages()
  await readUpdates()
  expect(telegram.calls).toHaveLength(before)
})

test('a long backlog of large updates is read in parts', async () => {
  const owner = await newOwner()
  const chat = { id: owner.chatId, first_name: 'x' }
  for (let times = 0; times < 99; times++)
    telegram.add({ message: { chat, text: 'x', entities: 'x'.repeat(50_000) } })
  telegram.write(owner.chatId, `/start ${await codeOf(owner)}`)
  for (let times = 0; times < 3; times++) await readUpdates()
  expect((await shown(owner)).status).toBe('linked')
})

test.each([
  ['is removed', (userId: string) => pool.query('delete from memberships where user_id = $1', [userId])],
  [
    'is an owner no more',
    (userId: string) => pool.query(`update memberships set role = 'developer' where user_id = $1`, [userId]),
  ],
] as const)(
  'when an owner %s, a private chat gets no more alerts and a code links none, but a group stays',
  async (_, end) => {
    const [owner, coder, grouped] = [await newLinked(), await newOwner(), await newOwner()]
    const code = await codeOf(coder)
    const group = { ...grouped, chatId: -grouped.chatId }
    telegram.write(group.chatId, `/start ${await codeOf(grouped)}`)
    await readUpdates()
    for (const each of [owner, coder, group]) {
      await signedIn(pool, { organizationId: each.organizationId }) // another owner stays
      await pool.query(
        `insert into telegram_outbox (organization_id, event, body) values ($1, 'test', 'Secret')`,
        [each.organizationId],
      )
      await end(each.userId)
    }
    telegram.write(coder.chatId, `/start ${code}`)
    await readUpdates()
    await sendMessages()
    const gotOf = ({ chatId }: Owner) => telegram.sentTo(chatId).filter((text) => text === 'Secret').length
    expect([owner, coder, group].map(gotOf)).toEqual([0, 0, 1])
    expect(telegram.sentTo(coder.chatId)).toEqual([])
    const { rows } = await pool.query(
      `select after from audit_log where organization_id = $1 and action = 'telegram.end'`,
      [owner.organizationId],
    )
    expect(rows).toEqual([{ after: { reason: 'not_an_owner' } }])
  },
)

test('a chat that has blocked the bot is unlinked, what waits for it is given up, and the owner sees why', async () => {
  const owner = await newLinked()
  await sendTest(owner)
  await sendTest(owner)
  telegram.block(owner.chatId, { isTold: false })
  await sendMessages()
  expect(await shown(owner)).toMatchObject({
    status: 'ended',
    chat_name: `Анна № ${owner.chatId}`,
    ended_reason: 'blocked',
    last_delivery: { status: 'failed' },
  })
  expect((await owner.visitor.post('/notifications/test')).body.telegram).toBe(false)
})

test.each([
  ['blocked', (owner: Owner) => telegram.block(owner.chatId, { isTold: true })],
  ['stopped', (owner: Owner) => telegram.write(owner.chatId, '/stop')],
] as const)('an update ends the link: %s', async (reason, end) => {
  const owner = await newLinked()
  end(owner)
  await readUpdates()
  expect(await shown(owner)).toMatchObject({ status: 'ended', ended_reason: reason })
})

test('an owner unlinks the chat, and what waited is not sent to it, also if another chat is linked then', async () => {
  const owner = await newLinked()
  await sendTest(owner)
  expect((await owner.visitor.call('DELETE', '/notifications/telegram')).status).toBe(204)
  expect(await shown(owner)).toMatchObject({ status: 'off', chat_name: null })
  const next = { ...owner, chatId: owner.chatId + 1 }
  telegram.write(next.chatId, `/start ${await codeOf(owner)}`)
  await readUpdates()
  await sendMessages()
  expect(alertsOf(owner)).toEqual([])
  expect(telegram.sentTo(next.chatId)).toHaveLength(1)
})

test('a group keeps its link when its id changes', async () => {
  const owner = await newLinked()
  await sendTest(owner)
  telegram.refuseNext(telegram.moveChat(owner.chatId, -owner.chatId))
  await sendMessages()
  expect(telegram.sentTo(-owner.chatId)).toHaveLength(1)
  expect((await shown(owner)).status).toBe('linked')
})

test('while Telegram is down, messages are tried ever less often for a day, and emails are written at once', async () => {
  const owner = await newLinked()
  telegram.setDown(true)
  await sendTest(owner)
  expect(
    (await lettersTo(pool, owner.email)).filter(({ kind }) => kind === 'notification_test'),
  ).toHaveLength(1)
  const before = telegram.calls.length
  await sendMessages()
  await sendMessages()
  await readUpdates()
  expect(telegram.calls).toHaveLength(before + 1)
  await letRetry()
  await sendMessages()
  const { rows } = await pool.query(
    'select failures, extract(epoch from paused_until - now())::float8 as seconds from telegram_bot',
  )
  expect(rows[0].failures).toBe(2)
  expect(rows[0].seconds).toBeGreaterThan(5)
  expect(await shown(owner)).toMatchObject({
    last_delivery: { status: 'waiting', attempts: 2, error_code: 'HTTP 502' },
  })
  await pool.query(`update telegram_outbox set created_at = created_at - interval '25 hours'`)
  await pool.query(
    `update telegram_links set linked_at = now() - interval '2 days' where organization_id = $1`,
    [owner.organizationId],
  )
  await letRetry()
  await sendMessages()
  expect(await shown(owner)).toMatchObject({
    status: 'linked',
    last_delivery: { status: 'failed', attempts: 3 },
  })
})

test('of two workers one reads updates, the other follows when it stops, and none is read twice', async () => {
  const other = newWorker()
  await readUpdates()
  const stopping = new AbortController()
  const polling = runOnce('telegram_updates', { stopping: stopping.signal })
  for (let times = 0; times < 3; times++)
    expect(await runOnce('telegram_updates', { among: other })).toBe('idle')
  stopping.abort()
  await polling
  const owner = await newOwner()
  telegram.write(owner.chatId, `/start ${await codeOf(owner)}`)
  await runOnce('telegram_updates', { among: other })
  await runOnce('telegram_updates', { among: other })
  expect((await shown(owner)).status).toBe('linked')
  expect(telegram.conflicts).toEqual([])
  await readUpdates()
  await sendMessages()
  expect(telegram.sentTo(owner.chatId)).toHaveLength(1)
})

test('a bot whose updates are read elsewhere still sends messages, and asks for updates again a minute later', async () => {
  const owner = await newLinked()
  const conflicting = newWorker()
  await readUpdates(conflicting)
  telegram.refuseNext({ code: 409, description: 'Conflict: terminated by other getUpdates request' })
  await readUpdates(conflicting)
  const before = telegram.calls.length
  await readUpdates(conflicting)
  expect(telegram.calls).toHaveLength(before)
  await sendTest(owner)
  await sendMessages()
  expect(alertsOf(owner)).toHaveLength(1)
  expect(lines.join('\n')).toContain('read elsewhere')
})

test('updates with smaller numbers are read after a week without any', async () => {
  telegram.renumber(10)
  await pool.query(`update telegram_bot set last_update_at = now() - interval '7 days'`)
  await newLinked()
})

test('of two workers one takes a message, and another one after its lease', async () => {
  const owner = await newLinked()
  await sendTest(owner)
  const taken = await Promise.all([1, 2].map(() => takeDueMessage(workerPool, 60_000)))
  expect(taken.filter((each) => each !== undefined)).toHaveLength(1)
  await sendMessages()
  expect(alertsOf(owner)).toEqual([])
  await letRetry()
  await sendMessages()
  expect(alertsOf(owner)).toHaveLength(1)
})

test('at most 1,000 messages of an organization wait', async () => {
  const owner = await newLinked()
  await pool.query(
    `insert into telegram_outbox (organization_id, event, body) select $1, 'test', 'x' from generate_series(1, 1000)`,
    [owner.organizationId],
  )
  expect((await owner.visitor.post('/notifications/test')).body.telegram).toBe(false)
})

test('the token is in no log, error, row or response, whatever fails', async () => {
  const owner = await newLinked()
  const wrong = `7654321:${'B'.repeat(35)}`
  for (const settings of [
    { token: wrong },
    { apiUrl: 'http://127.0.0.1:1' },
    { apiUrl: 'http://localhost.invalid' },
  ]) {
    const broken = newWorker(settings)
    await sendTest(owner)
    await letRetry()
    await runOnce('telegram_messages', { among: broken })
    await letRetry()
    await pool.query(`update telegram_bot set polled_until = '-infinity'`)
    await runOnce('telegram_updates', { among: broken })
    await letRetry()
  }
  telegram.setDown(true)
  await runOnce('telegram_messages')
  const { rows } = await pool.query<{ row: string }>(
    `select t::text as row from telegram_bot t union all select t::text from telegram_outbox t
      union all select t::text from telegram_links t union all select a::text from audit_log a`,
  )
  const seen = [
    ...lines,
    ...cabinet.lines,
    ...rows.map(({ row }) => row),
    JSON.stringify(await shown(owner)),
  ].join('\n')
  expect(lines.join('\n')).toContain('TELEGRAM_BOT_TOKEN')
  for (const token of [telegram.token, wrong]) {
    expect(seen).not.toContain(token)
    expect(seen).not.toContain(token.split(':')[1])
  }
})

test('the audit log does not keep the name of a chat', async () => {
  const owner = await newLinked()
  telegram.write(owner.chatId, '/stop')
  await readUpdates()
  const { rows } = await pool.query<{ action: string; row: string }>(
    `select action, a::text as row from audit_log a where organization_id = $1 and action like 'telegram.%' order by id`,
    [owner.organizationId],
  )
  expect(rows.map(({ action }) => action)).toEqual(['telegram.code', 'telegram.link', 'telegram.end'])
  expect(rows.map(({ row }) => row).join('\n')).not.toContain('Анна')
})

test('the code of a link is in no log or row', async () => {
  const owner = await newOwner()
  const code = await codeOf(owner)
  const { rows } = await pool.query<{ row: string }>(
    'select t::text as row from telegram_links t union all select a::text from audit_log a',
  )
  expect([...cabinet.lines, ...rows.map(({ row }) => row)].join('\n')).not.toContain(code)
})

test('without a bot there is nothing to link', async () => {
  const owner = await newOwner()
  await pool.query(`update telegram_bot set polled_until = now() - interval '11 minutes'`)
  expect(await shown(owner)).toBeNull()
  expect((await owner.visitor.post('/notifications/telegram')).status).toBe(404)
  await readUpdates()
})

test('nothing is kept of an organization that its last member leaves', async () => {
  const owner = await newLinked()
  await sendTest(owner)
  await pool.query('delete from memberships where user_id = $1', [owner.userId])
  for (const table of ['telegram_links', 'telegram_outbox'])
    expect(
      (await pool.query(`select from ${table} where organization_id = $1`, [owner.organizationId])).rowCount,
    ).toBe(0)
})
