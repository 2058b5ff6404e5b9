import type { Pool } from 'pg'
import { sessionIdLength } from '#core/audit/audit-log'
import { inReadScope } from '#core/audit/scope'
import { csvRows, exportBatch } from '../../api/csv-rows.ts'
import { type Endpoint, endpoint, type Input } from '../../api/endpoint.ts'
import { toPage } from '../../api/page.ts'
import { exportAuditLog, readAuditLog } from '../administration-contracts.ts'
import { type AuditEntry, readAuditEntries } from './admin-reads.ts'

type AskedFilter = Input<typeof exportAuditLog>['query']

/** Endpoints that show the audit log. */
export function auditEndpoints(pool: Pool): readonly Endpoint[] {
  return [
    endpoint(readAuditLog, async ({ query: { cursor, limit, ...query } }) => {
      const filter = { ...filterOf(query), before: cursor }
      const entries = await inReadScope(pool, null, (client) =>
        readAuditEntries(client, { ...filter, limit: limit + 1 }),
      )
      return { status: 200, body: toPage(entries, limit, entryOf, ({ id }) => String(id)) }
    }),

    endpoint(exportAuditLog, async ({ query }) => {
      const filter = { ...filterOf(query), limit: exportBatch }
      const csv = await csvRows(auditHead, auditCells, async (before: string | undefined) => {
        const rows = await inReadScope(pool, null, (client) =>
          readAuditEntries(client, { ...filter, before }),
        )
        const last = rows.length < exportBatch ? undefined : rows.at(-1)
        return { rows, next: last && String(last.id) }
      })
      return { status: 200, csv, fileName: 'audit.csv' }
    }),
  ]
}

function filterOf({ organization_id, actor_id, session_id, ...query }: AskedFilter) {
  const sessionId = session_id?.slice(0, sessionIdLength)
  return { ...query, organizationId: organization_id, actorId: actor_id, sessionId }
}

function entryOf(entry: AuditEntry) {
  const { id, at, action, before, after, reason } = entry
  return {
    id: String(id),
    at: at.toISOString(),
    action,
    before,
    after,
    reason,
    actor_kind: entry.actorKind,
    actor_id: entry.actorId,
    subject_kind: entry.subjectKind,
    subject_id: entry.subjectId,
    organization_id: entry.organizationId,
    request_id: entry.requestId,
    session_id: entry.sessionId,
    address: entry.address,
  }
}

const auditHead = [
  'id',
  'at',
  'action',
  'before',
  'after',
  'reason',
  'actor_kind',
  'actor_id',
  'subject_kind',
  'subject_id',
  'organization_id',
  'request_id',
  'session_id',
  'address',
]

function auditCells(entry: AuditEntry): readonly (string | null)[] {
  const { before, after, ...shown } = entryOf(entry)
  const [id, at, action, ...rest] = Object.values(shown)
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value))
  return [id ?? null, at ?? null, action ?? null, json(before), json(after), ...rest]
}
