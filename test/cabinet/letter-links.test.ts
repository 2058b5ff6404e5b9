import { expect, test } from 'vitest'
import { letterContentSchema } from '#cabinet/mail/internal/letter-content'
import { buildPagesIfOlder } from '#cabinet/pages/build-pages'
import { cabinetOfThisFile, lettersTo, newEmail, registration, signUp } from '../support/cabinet.ts'
import { appUrl } from '../support/web-settings.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet

test('every link in every email opens a page', async () => {
  await buildPagesIfOlder()
  const [user, guest] = [await signUp(cabinet), newEmail()]
  await cabinet.visitor().post('/auth/register', registration({ email: user.email }))
  await cabinet.visitor().post('/auth/password/forgot', { email: user.email })
  await user.visitor.post('/invitations', { email: guest, role: 'developer' })

  const letters = [...(await lettersTo(pool, user.email)), ...(await lettersTo(pool, guest))]
  const links = letters.flatMap(({ kind, vars }) =>
    Object.values(vars).flatMap((value) => (value.startsWith(appUrl) ? [{ kind, link: value }] : [])),
  )
  expect(new Set(links.map(({ kind }) => kind))).toEqual(new Set(kindsWithLinks()))
  for (const { kind, link } of links) {
    const page = await fetch(link.replace(appUrl, cabinet.url), { headers: { accept: 'text/html' } })
    expect([kind, link, page.status]).toEqual([kind, link, 200])
  }
})

/** The kinds of emails whose content has a link. */
function kindsWithLinks(): readonly string[] {
  return letterContentSchema.options
    .filter(({ shape }) => Object.keys(shape.vars.shape).some((name) => /link$/i.test(name)))
    .map(({ shape }) => shape.kind.value)
}
