import type { Pool } from 'pg'
import { inReadScope, inScope, scopeOfAdministrator } from '#core/audit/scope'
import type { Locale } from '../api/access.ts'
import { csvRows, exportBatch } from '../api/csv-rows.ts'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { toPage } from '../api/page.ts'
import { type Consent, type ConsentFilter, readConsentRegister } from './internal/consent-register.ts'
import { publishTexts, type Refusal } from './internal/publish-texts.ts'
import {
  adminExportConsents,
  adminListConsents,
  adminListLegalDocuments,
  adminPublishLegalDocument,
} from './legal-administration-contracts.ts'
import { listWithState } from './legal-endpoints.ts'

/** Endpoints for administrators: new versions of legal documents, and who agreed to which. */
export function legalAdministrationEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  const read = (
    filter: ConsentFilter,
    place: { readonly before: string | undefined; readonly limit: number },
  ) => inReadScope(pool, null, (client) => readConsentRegister(client, filter, place))
  return [
    endpoint(adminListLegalDocuments, async () => ({
      status: 200,
      body: { data: await listWithState(pool) },
    })),

    endpoint(adminPublishLegalDocument, async ({ caller: { administratorId }, body, visit }) => {
      const { reason, ...draft } = body
      const scope = scopeOfAdministrator(administratorId, visit, reason)
      const published = await inScope(pool, scope, (client) =>
        publishTexts(client, { ...draft, publishedBy: administratorId }, new Date()),
      )
      if ('refused' in published) return refusal(published.refused, published.earliest, visit.locale)
      return { status: 201, body: published } as const
    }),

    endpoint(adminListConsents, async ({ query: { limit, cursor, ...filter } }) => {
      const rows = await read(filter, { before: cursor, limit: limit + 1 })
      return { status: 200, body: toPage(rows, limit, shown, ({ id }) => String(id)) } as const
    }),

    endpoint(adminExportConsents, async ({ query }) => {
      const csv = await csvRows(csvHead, csvCells, async (before: string | undefined) => {
        const rows = await read(query, { before, limit: exportBatch })
        return { rows, next: rows.length < exportBatch ? undefined : String(rows.at(-1)?.id) }
      })
      return { status: 200, csv, fileName: 'consents.csv' } as const
    }),
  ]
}

const messages = {
  in_the_past: {
    en: (day: string) => `must be ${day} or later`,
    ru: (day: string) => `должно быть не раньше ${day}`,
  },
  not_the_newest: {
    en: (day: string) => `must be later than the newest version, ${day}`,
    ru: (day: string) => `должно быть позже новейшей редакции, ${day}`,
  },
} as const

function refusal(code: Refusal, day: string, locale: Locale) {
  const errors = [{ path: 'version', code, message: messages[code][locale](day) }]
  return { problem: { code: 'validation_failed', errors } } as const
}

function shown(row: Consent) {
  const { id, at, userId, email, kind, version, locale, sha256, withdrawn, address, agent } = row
  return {
    id: String(id),
    at: at.toISOString(),
    user_id: userId,
    email,
    kind,
    version,
    locale,
    sha256,
    withdrawn,
    address,
    agent,
  }
}

const csvHead = [
  'id',
  'at',
  'user_id',
  'email',
  'kind',
  'version',
  'locale',
  'sha256',
  'withdrawn',
  'address',
  'agent',
]

function csvCells(row: Consent): readonly (string | number | null)[] {
  const { withdrawn, ...rest } = shown(row)
  return Object.values({ ...rest, withdrawn: String(withdrawn) })
}
