import type { ReactNode } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { EmptyState } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import type { Answer } from '../calls.ts'
import { Anchored } from './anchored.tsx'
import { operationWords } from './messages.ts'

type State = Answer<'GET /admin/operations/state'>

/** What waits, what the last checks found, and which gateways live. */
export function StateSections({ state }: { readonly state: State }) {
  const words = useWords(operationWords)
  const { open } = state
  return (
    <>
      <div className="grid gap-6 lg:grid-cols-3">
        <Anchored id="differences">
          <Section title={words.differences}>
            <Facts rows={[[words.differencesOpen, <Count key="count" value={open.payment_differences} />]]} />
            <LinkedText text={words.differencesLink} href="/app/differences" />
          </Section>
        </Anchored>
        <Anchored id="webhooks">
          <Section title={words.webhooks}>
            <Facts
              rows={[[words.webhooksWaiting, <Count key="count" value={open.waiting_notifications} />]]}
            />
            <LinkedText text={words.webhooksLink} href="/app/webhooks?state=waiting" />
          </Section>
        </Anchored>
        <Anchored id="emails">
          <Section title={words.emails}>
            <Facts rows={[[words.emailsWaiting, open.waiting_emails]]} />
          </Section>
        </Anchored>
      </div>
      <Anchored id="invariants">
        <InvariantsSection {...state.invariants} />
      </Anchored>
      <Anchored id="audit-chain">
        <AuditLogSection auditLog={state.audit_log} />
      </Anchored>
      <Anchored id="backlog">
        <BacklogSection backlog={state.backlog} />
      </Anchored>
      <Anchored id="gateways">
        <GatewaysSection gateways={state.gateways} revision={state.catalog_revision} />
      </Anchored>
    </>
  )
}

/** Figures with their labels, a line each. */
function Facts({ rows }: { readonly rows: readonly (readonly [label: string, value: ReactNode])[] }) {
  return (
    <dl className="mb-3 grid gap-2 text-sm">
      {rows.map(([label, value]) => (
        <div key={label} className="flex flex-wrap justify-between gap-x-4">
          <dt className="text-muted">{label}</dt>
          <dd className="font-medium">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A number that should be 0. */
function Count({ value }: { readonly value: number }) {
  return <Badge tone={value === 0 ? 'success' : 'warning'}>{value}</Badge>
}

function InvariantsSection({ looked_at, audited_at, breaches }: State['invariants']) {
  const words = useWords(operationWords)
  const columns: readonly Column<(typeof breaches)[number]>[] = [
    { id: 'invariant', head: words.invariant, cell: ({ invariant }) => <code>{invariant}</code> },
    { id: 'count', head: words.count, isNumber: true, cell: ({ count }) => count },
    {
      id: 'sample',
      head: words.sample,
      cell: ({ sample }) => <span className="font-mono text-xs break-all">{sample}</span>,
    },
  ]
  const timeOf = (at: string | null) => (at === null ? words.never : <DateTime at={at} />)
  return (
    <Section title={words.invariants}>
      <Facts
        rows={[
          [words.lookedAt, timeOf(looked_at)],
          [words.auditedAt, timeOf(audited_at)],
        ]}
      />
      {breaches.length === 0 ? (
        <Badge tone="success">{words.sound}</Badge>
      ) : (
        <Table
          caption={words.invariants}
          columns={columns}
          rows={breaches}
          keyOf={({ invariant }) => invariant}
        />
      )}
    </Section>
  )
}

function AuditLogSection({ auditLog }: { readonly auditLog: State['audit_log'] }) {
  const words = useWords(operationWords)
  return (
    <Section title={words.auditLog}>
      {auditLog === null ? (
        <p>{words.never}</p>
      ) : (
        <Facts
          rows={[
            [words.auditLogChecked, <DateTime key="at" at={auditLog.checked_at} />],
            [words.auditLogRows, auditLog.row_count],
            [words.auditLogBad, <Count key="bad" value={auditLog.bad_count} />],
            ...(auditLog.first_bad_id === null
              ? []
              : ([[words.auditLogFirst, `${auditLog.first_bad_id}: ${auditLog.first_bad_why}`]] as const)),
          ]}
        />
      )}
    </Section>
  )
}

function BacklogSection({ backlog }: Pick<State, 'backlog'>) {
  const words = useWords(operationWords)
  return (
    <Section title={words.backlog}>
      {backlog === null ? (
        <p>{words.backlogUnknown}</p>
      ) : (
        <Facts
          rows={[
            [words.measuredAt, <DateTime key="at" at={backlog.measured_at} />],
            [words.unposted, backlog.charges_unposted],
            [words.oldest, Math.round(backlog.oldest_charge_seconds)],
            [words.holds, backlog.holds],
            [words.overdue, Math.round(backlog.overdue_hold_seconds)],
            [words.shards, <Count key="shards" value={backlog.shards_unavailable} />],
          ]}
        />
      )}
    </Section>
  )
}

function GatewaysSection({ gateways, revision }: Pick<State, 'gateways'> & { readonly revision: string }) {
  const words = useWords(operationWords)
  const columns: readonly Column<State['gateways'][number]>[] = [
    { id: 'gateway', head: words.gateway, cell: ({ id }) => <span className="break-all">{id}</span> },
    { id: 'version', head: words.version, cell: ({ version }) => version },
    {
      id: 'revision',
      head: words.revision,
      cell: (gateway) => (
        <Badge tone={gateway.revision === revision ? 'success' : 'warning'}>{gateway.revision}</Badge>
      ),
    },
    {
      id: 'trouble',
      head: words.trouble,
      cell: ({ unhealthy }) =>
        unhealthy.length === 0
          ? words.none
          : unhealthy.map(({ name, trouble }) => `${name}: ${trouble}`).join(', '),
    },
    { id: 'changed', head: words.changedAt, cell: ({ changed_at }) => <DateTime at={changed_at} /> },
  ]
  return (
    <Section title={words.gateways} lead={words.gatewaysLead(revision)} isFlush>
      {gateways.length === 0 ? (
        <EmptyState text={words.gatewaysEmpty} />
      ) : (
        <Table caption={words.gateways} columns={columns} rows={gateways} keyOf={({ id }) => id} />
      )}
    </Section>
  )
}
