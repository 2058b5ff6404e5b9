import { expect, test } from 'vitest'
import { letterContentSchema } from '#cabinet/mail/internal/letter-content'
import { buildPagesIfOlder } from '#cabinet/pages/build-pages'
import {
  aPassword,
  cabinetOfThisFile,
  lettersTo,
  newEmail,
  registration,
  signUp,
} from '../support/cabinet.ts'
import { signedIn, signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool, database } = cabinet
const administration = await administrationOfThisFile(database)

test('every link in every email opens a page', async () => {
  await buildPagesIfOlder()
  const [user, guest, newAddress] = [await signUp(cabinet), newEmail(), newEmail()]
  await cabinet.visitor().post('/auth/register', registration({ email: user.email }))
  await cabinet.visitor().post('/auth/password/forgot', { email: user.email })
  await user.visitor.post('/invitations', { email: guest, role: 'developer' })
  await user.visitor.post('/me/email-change', { email: newAddress, password: aPassword })
  const recipients = [user.email, guest, newAddress, await loseSecondFactor()]

  const letters = (await Promise.all(recipients.map((email) => lettersTo(pool, email)))).flat()
  const links = letters.flatMap(({ kind, vars }) =>
    Object.values(vars).flatMap((value) => (value.startsWith(appUrl) ? [{ kind, link: value }] : [])),
  )
  expect(new Set(links.map(({ kind }) => kind))).toEqual(new Set(kindsWithLinks()))
  for (const { kind, link } of links) {
    const page = await fetch(link.replace(appUrl, cabinet.url), { headers: { accept: 'text/html' } })
    expect([kind, link, page.status]).toEqual([kind, link, 200])
  }
})

/** A user whose second factor two administrators have agreed to remove. Returns the user's address. */
async function loseSecondFactor(): Promise<string> {
  const { userId } = await signedIn(pool, { hasTotp: true })
  const body = { reason: 'Lost phone, passport checked' }
  const call = async (path: string) =>
    administration.call('POST', path, { cookie: (await signedInAdministrator(pool)).cookie, body })
  const requested = await call(`/admin/users/${userId}/totp-resets`)
  expect((await call(`/admin/totp-resets/${requested.body.id}/approve`)).status).toBe(200)
  const { rows } = await pool.query('select email from users where id = $1', [userId])
  return rows[0].email
}

/** The kinds of emails whose content has a link. */
function kindsWithLinks(): readonly string[] {
  return letterContentSchema.options
    .filter(({ shape }) => Object.keys(shape.vars.shape).some((name) => /link$/i.test(name)))
    .map(({ shape }) => shape.kind.value)
}
