import { billingWords } from '../../features/billing/messages.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { DateTime } from '../../kit/date-time.tsx'
import type { Column } from '../../kit/table.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { type Answer, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { customerWords } from './messages.ts'

type Event = Answer<'GET /admin/organizations/:organization_id/timeline'>['data'][number]

/** What happened to the organization and its members, newest first. */
export function TimelineSection({ organizationId }: { readonly organizationId: string }) {
  const words = useWords(customerWords)
  const detailsOf = useDetails()
  const list = useReadList('/admin/organizations/:organization_id/timeline', {
    params: { organization_id: organizationId },
  })
  const columns: readonly Column<Event>[] = [
    { id: 'event', head: words.event, cell: ({ kind }) => words.events[kind] },
    {
      id: 'details',
      head: words.details,
      cell: (event) => <span className="block max-w-96 min-w-32 wrap-anywhere">{detailsOf(event)}</span>,
    },
    { id: 'time', head: words.time, cell: ({ at }) => <DateTime at={at} /> },
  ]
  return (
    <ListTable
      list={list}
      expectedCount={8}
      empty={words.empty}
      caption={words.timeline}
      columns={columns}
      keyOf={({ id }) => id}
    />
  )
}

/** The facts of an event in one line. */
function useDetails(): (event: Event) => string {
  const words = useWords(customerWords)
  const billing = useWords(billingWords)
  const language = useLanguage()
  const named = (names: Readonly<Record<string, string>>, name: string) => names[name] ?? name
  return ({ kind, facts }) => {
    const text = (name: string) =>
      facts[name] === null || facts[name] === undefined ? '' : String(facts[name])
    const sum = (name: string) => formatRoubles(text(name), language, 'exact')
    const parts: Readonly<Record<Event['kind'], () => readonly string[]>> = {
      sign_up: () => [text('email'), text('confirmed') === 'true' ? words.confirmed : words.notConfirmed],
      consent: () => [text('document'), text('version'), text('withdrawn') === 'true' ? words.withdrawn : ''],
      payment: () => [sum('amount_rub'), named(billing.statuses, text('status')), text('reason')],
      refund: () => [sum('amount_rub'), text('status'), text('reason')],
      ledger: () => [named(billing.kinds, text('entry')), sum('amount_rub'), `→ ${sum('balance_rub')}`],
      change: () => [text('action'), text('actor_kind'), text('reason')],
      email: () => [text('email_kind'), text('recipient'), stateOfEmail()],
    }
    const stateOfEmail = () => {
      if (text('sent_at') !== '') return words.sent
      return text('gave_up_at') === '' ? words.notSent : words.notDelivered
    }
    return parts[kind]()
      .filter((part) => part !== '')
      .join(' · ')
  }
}
