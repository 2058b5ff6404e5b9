import { expect, test } from 'vitest'
import { proofHeader } from '#cabinet/api/proof-of-work'
import {
  aPassword,
  cabinetOfThisFile,
  newEmail,
  registration,
  sameRequestId,
  signUp,
} from '../support/cabinet.ts'
import { evenTryCount } from '../support/environment.ts'
import { proofFor } from '../support/proof.ts'
import { forEachAtOnce } from '../support/several-at-once.ts'

const cabinet = await cabinetOfThisFile()
const { pool } = cabinet

/** Registered addresses, every other one confirmed. Each is used once, so that no pause between emails applies. */
async function knownAddresses(): Promise<readonly string[]> {
  const { email, userId } = await signUp(cabinet)
  const emails = Array.from({ length: evenTryCount }, newEmail)
  await pool.query(
    `with u as (insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at, email_confirmed_at)
       select gen_random_uuid(), e.email, 'en', password_hash, now(), now(), case when e.place % 2 = 0 then now() end
         from users, unnest($2::text[]) with ordinality as e (email, place) where users.email = $1 returning id)
     insert into memberships (organization_id, user_id, role)
     select m.organization_id, u.id, 'owner' from u, memberships m where m.user_id = $3`,
    [email, emails, userId],
  )
  return emails
}

type Ask = {
  readonly path: string
  readonly atOnce: number
  readonly isProven?: true
  readonly body: (email: string) => object
}

/** Where an answer waits for its time, many can wait at once; of registrations as few as can be hashed in that time. */
const asks: Readonly<Record<string, Ask>> = {
  registration: {
    path: '/auth/register',
    atOnce: 4,
    isProven: true,
    body: (email) => registration({ email }),
  },
  'a sign-in': {
    path: '/auth/login',
    atOnce: 1,
    body: (email) => ({ email, password: `${aPassword}, but wrong` }),
  },
  'a forgotten password': { path: '/auth/password/forgot', atOnce: 10, body: (email) => ({ email }) },
  'another letter': { path: '/auth/resend-verification', atOnce: 10, body: (email) => ({ email }) },
}

test.each(Object.entries(asks))(
  '%s is answered with the same bytes, and in the same time, whether or not an address is known',
  async (name, { path, atOnce, body, isProven }) => {
    const known = await knownAddresses()
    const addresses = known.flatMap((email) => [
      { isKnown: true, email },
      { isKnown: false, email: newEmail() },
    ])
    const answers = new Set<string>()
    const times = { known: [] as number[], unknown: [] as number[] }
    await forEachAtOnce(addresses, atOnce, async ({ isKnown, email }) => {
      const visitor = cabinet.visitor()
      const asked = body(email)
      // Solving takes the page's time, not the server's.
      const proof = isProven ? { [proofHeader]: await proofFor(visitor, path, asked) } : {}
      const from = performance.now()
      const answer = await visitor.call('POST', path, asked, { ...sameRequestId, ...proof })
      times[isKnown ? 'known' : 'unknown'].push(performance.now() - from)
      const { date: _, ...headers } = Object.fromEntries(answer.headers)
      answers.add(JSON.stringify({ status: answer.status, headers, text: answer.text }))
    })
    expect([...answers]).toHaveLength(1)
    expect([...answers][0]).toMatch(/^\{"status":(?:202|401)/)
    const [ofKnown, ofUnknown] = [medianOf(times.known), medianOf(times.unknown)]
    process.stdout.write(`${name}: ${ofKnown.toFixed(1)} ms known, ${ofUnknown.toFixed(1)} ms unknown\n`)
    expect(Math.abs(ofKnown / ofUnknown - 1)).toBeLessThan(0.1)
  },
  60_000 + evenTryCount * 500,
)

function medianOf(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
}
