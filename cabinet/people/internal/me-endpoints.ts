import { inReadScope, inScope, scopeOfPerson } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Locale } from '../../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../../api/endpoint.ts'
import { notFound } from '../../api/problem.ts'
import { readVersionsInForce } from '../../legal/legal-texts.ts'
import { exportAccount } from '../account-export-contracts.ts'
import { acceptDocument, changeMe, endSession, listConsents, listSessions, readMe } from '../me-contracts.ts'
import { endSessions, listLiveSessions, shownSession } from '../session-store.ts'
import { readAccount } from './account-export.ts'
import { acceptOnce, readConsents, readOutdatedConsents } from './consent-store.ts'
import { chooseLocale, chooseOrganization, readProfile } from './me-store.ts'
import type { PeopleParts } from './people-parts.ts'

/** Endpoints for the signed-in user's own account. */
export function meEndpoints({ pool, appUrl }: PeopleParts): readonly Endpoint[] {
  const profileOf = (userId: string, { organizationId }: Visit) =>
    inReadScope(pool, null, async (client) => ({
      ...(await readProfile(client, userId, organizationId)),
      outdated_consents: await readOutdatedConsents(client, userId),
    }))
  return [
    endpoint(readMe, async ({ caller: { userId }, visit }) => ({
      status: 200,
      body: await profileOf(userId, visit),
    })),
    endpoint(changeMe, async ({ caller: { userId }, body: { locale, organization_id }, visit }) => {
      const scope = scopeOfPerson(userId, null, visit)
      const isMember = await inScope(pool, scope, async (client) => {
        const isChosen =
          organization_id === undefined || (await chooseOrganization(client, userId, organization_id))
        if (isChosen && locale !== undefined) await chooseLocale(client, userId, locale)
        return isChosen
      })
      return isMember ? { status: 200, body: await profileOf(userId, visit) } : notFound
    }),
    endpoint(listSessions, async ({ caller: { userId, sessionId } }) => {
      const sessions = await listLiveSessions(pool, userId)
      const data = sessions.map((session) => ({
        ...shownSession(session, sessionId),
        mfa_at: session.mfaAt?.toISOString() ?? null,
      }))
      return { status: 200, body: { data } }
    }),
    endpoint(endSession, async ({ caller, params: { session_id: sessionId }, visit }) => {
      if (!isId(sessionId)) return notFound
      const { userId } = caller
      const scope = scopeOfPerson(userId, null, visit)
      const ended = await inScope(pool, scope, (client) => endSessions(client, userId, { sessionId }))
      if (ended === 0) return notFound
      return caller.sessionId === sessionId.toLowerCase()
        ? { status: 204, session: 'ended' }
        : { status: 204 }
    }),
    endpoint(exportAccount, async ({ caller: { userId } }) => ({
      status: 200,
      body: await inReadScope(pool, null, (client) =>
        readAccount(client, userId, { appUrl, now: new Date() }),
      ),
    })),
    endpoint(listConsents, async ({ caller: { userId } }) => ({
      status: 200,
      body: { data: await readConsents(pool, userId) },
    })),
    endpoint(acceptDocument, async ({ caller: { userId }, body: { kind, version }, visit }) => {
      const inForce = await readVersionsInForce(pool, visit.locale)
      const document = inForce.find((current) => current.kind === kind)
      if (document?.version !== version) return notInForce(visit.locale)
      const scope = scopeOfPerson(userId, null, visit)
      const accepted = await inScope(pool, scope, (client) => acceptOnce(client, userId, document, visit))
      return { status: 200, body: accepted }
    }),
  ]
}

function notInForce(locale: Locale) {
  const message = { en: 'is not the version in force', ru: 'это не действующая редакция' }[locale]
  return {
    problem: { code: 'validation_failed', errors: [{ path: 'version', code: 'not_in_force', message }] },
  } as const
}
