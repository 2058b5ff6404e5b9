import { createTransport } from 'nodemailer'
import { request } from 'undici'
import { expect, onTestFinished, test, vi } from 'vitest'
import { enqueueLetter } from '#cabinet/mail/outbox'
import { createPool } from '#core/db/pool'
import { startMailbox } from '#standalone/mailbox'
import { folderOfThisTest } from '../support/folder.ts'
import { createDatabase } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { startStandalone } from '../support/standalone.ts'

const stack = await stackOfThisFile()

async function mailboxOfThisTest() {
  const lines: string[] = []
  const mailbox = await startMailbox({ tell: (line) => lines.push(line) })
  onTestFinished(() => mailbox.stop())
  const [page, json] = mailbox.pages.map(
    ({ render }) =>
      () =>
        render().body,
  )
  return {
    ...mailbox,
    lines,
    page: () => page?.() ?? '',
    letters: (): Readonly<Record<string, unknown>>[] => JSON.parse(json?.() ?? ''),
  }
}

test('npm start shows each email on its page, as JSON and in a line with its link, only to this machine', async () => {
  const database = await createDatabase({ template: 'template0' })
  onTestFinished(() => database[Symbol.asyncDispose]())
  const system = await startStandalone({ DATA_DIR: folderOfThisTest('mailbox'), DATABASE_URL: database.url })
  onTestFinished(system.kill)
  // The names that the line's addresses had before.
  expect(system).toMatchObject({ mailboxUrl: system.mailCatcherUrl, tillUrl: system.testPaymentsUrl })
  const pool = createPool({ databaseUrl: database.url, applicationName: 'test', connectionCountMax: 1 })
  const link = 'http://localhost:3000/verify-email#token=t0'
  await inTestScope(pool, (client) =>
    enqueueLetter(client, {
      kind: 'verify_email',
      vars: { link },
      recipient: 'anna@example.com',
      locale: 'ru',
    }),
  ).finally(() => pool.end())
  const line = `Email to anna@example.com: Подтвердите адрес электронной почты → ${link}`
  await vi.waitFor(() => expect(system.said()).toContain(line))
  expect(await (await fetch(`${system.mailCatcherUrl}.json`)).json()).toMatchObject([
    { to: 'anna@example.com', subject: 'Подтвердите адрес электронной почты', links: [link] },
  ])
  const page = await fetch(system.mailCatcherUrl)
  expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(await page.text()).toContain(`<a href="${link}">`)

  // A page of a stranger whose name points here, and a proxy that this machine has for others.
  for (const host of ['stranger.example', 'cabinet.example:3000', '127.0.0.1.stranger.example'])
    expect((await request(system.mailCatcherUrl, { headers: { host } })).statusCode).toBe(404)
  expect(await system.stop()).toBe(0)
}, 60_000)

test('a cabinet that was not started by npm start has no mailbox', async () => {
  const web = await stack.startWeb()
  for (const path of ['/dev/mailbox', '/dev/mailbox.json'])
    expect((await fetch(new URL(path, web.baseUrl))).status).toBe(404)
})

test('the mailbox keeps the last hundred emails, the newest first', async () => {
  const { smtpUrl, letters } = await mailboxOfThisTest()
  const transport = createTransport({ ...addressOf(smtpUrl), pool: true, maxConnections: 1 })
  onTestFinished(() => transport.close())
  for (let n = 1; n <= 102; n++)
    await transport.sendMail({
      from: 'a@example.com',
      to: 'b@example.com',
      subject: `Letter ${n}`,
      text: 'x',
    })
  const subjects = letters().map(({ subject }) => subject)
  expect(subjects).toHaveLength(100)
  expect([subjects[0], subjects[99]]).toEqual(['Letter 102', 'Letter 3'])
})

test('whatever an email holds, it is one line of a terminal and runs nothing in a browser', async () => {
  const { smtpUrl, lines, page } = await mailboxOfThisTest()
  await createTransport(addressOf(smtpUrl)).sendMail({
    from: 'a@example.com',
    to: 'b@example.com',
    subject: '\u001b[2J<script>alert(1)</script>',
    text: 'https://example.com/"onmouseover="alert(1)\n<img src=x onerror=alert(1)>',
  })
  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toMatch(/\p{Cc}/u)
  expect(page()).not.toMatch(/<script|<img|"onmouseover/)
})

test('an email that is too large or cannot be read is rejected, and the next one is taken', async () => {
  const { smtpUrl, letters } = await mailboxOfThisTest()
  const transport = createTransport({ ...addressOf(smtpUrl), logger: false })
  const envelope = { from: 'a@example.com', to: 'b@example.com' }
  await expect(transport.sendMail({ ...envelope, text: 'x'.repeat(2_000_000) })).rejects.toMatchObject({
    responseCode: 552,
  })
  const nested = Array.from({ length: 400 }, (_, n) => nestedPart(n)).join('')
  await expect(transport.sendMail({ envelope, raw: nested })).rejects.toThrow()
  await transport.sendMail({ ...envelope, subject: 'next', text: 'x' })
  expect(letters().map(({ subject }) => subject)).toEqual(['next'])
})

/** One more level of parts within parts. */
function nestedPart(n: number): string {
  return `Content-Type: multipart/mixed; boundary="b${n}"\r\n\r\n--b${n}\r\n`
}

function addressOf(smtpUrl: string) {
  const { hostname: host, port } = new URL(smtpUrl)
  return { host, port: Number(port) }
}
