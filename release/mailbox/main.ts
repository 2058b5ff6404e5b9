import { once } from 'node:events'
import { createServer } from 'node:http'
import { z } from 'zod'
import { hostSetting, portSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { mailboxPath, startMailbox } from '#standalone/mailbox'

/** The mail catcher of a demo. It delivers nothing and shows the emails that it receives at `/dev/mailbox`. */
const envSchema = z.object({
  MAILBOX_HOST: hostSetting,
  MAILBOX_SMTP_PORT: portSetting.default(2525),
  MAILBOX_PORT: portSetting.default(8025),
})

ignoreInspectorSignal()
const env = readEnvironment('the mailbox', envSchema, process.env)
const mailbox = await startMailbox({
  // Logs are kept, so they must not contain the links in emails, which are secrets of the recipients.
  tell: () => say('Email received.'),
  host: env.MAILBOX_HOST,
  port: env.MAILBOX_SMTP_PORT,
})
const server = createServer((request, response) => {
  const page = mailbox.pages.find(({ url }) => url === request.url)
  if (page === undefined) return void response.writeHead(302, { location: mailboxPath }).end()
  const { type, body } = page.render()
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
})
await once(server.listen(env.MAILBOX_PORT, env.MAILBOX_HOST), 'listening')
say(`The mail catcher receives emails at ${mailbox.smtpUrl} and shows them on port ${env.MAILBOX_PORT}.`)
process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await mailbox.stop()
})

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
