import { useState } from 'react'
import { useTitle } from '../../app/title.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { type Answer, useRead } from '../calls.ts'
import { PaymentsTable } from '../money/payments-table.tsx'
import type { PageProps } from '../page-props.ts'
import { AdjustDialog } from './adjust-dialog.tsx'
import { BlockOrganizationDialog } from './block-organization-dialog.tsx'
import { EmailsSection } from './emails-section.tsx'
import { KeysSection } from './keys-section.tsx'
import { LedgerSection, RejectionsSection, RequestsSection } from './lists.tsx'
import { MembersSection } from './members-section.tsx'
import { customerWords } from './messages.ts'
import { TimelineSection } from './timeline-section.tsx'

type Customer = Answer<'GET /admin/organizations/:organization_id'>

/** Everything about one organization, and what an administrator may do to it. */
export function CustomerPage({ params: { organization_id = '' } }: PageProps) {
  const words = useWords(customerWords)
  const [isAdjusting, setAdjusting] = useState(false)
  const [isBlocking, setBlocking] = useState(false)
  const customer = useRead('/admin/organizations/:organization_id', { params: { organization_id } })
  const name = customer.data?.organization.display_name ?? customer.data?.organization.name
  useTitle(name)
  return (
    <Loaded query={customer} skeleton={<Skeleton heightRem={40} />} heading={organization_id}>
      {(known) => (
        <>
          <PageHead
            title={name ?? organization_id}
            lead={
              <>
                <span className="flex flex-wrap items-center gap-2">
                  <code className="font-mono text-sm break-all">{organization_id}</code>
                  <CopyButton text={organization_id} label={organization_id} isCompact />
                </span>
                {words.lead}
              </>
            }
            actions={
              <>
                <Button onClick={() => setAdjusting(true)}>{words.adjust}</Button>
                <Button onClick={() => setBlocking(true)}>
                  {known.organization.blocked_at === null ? words.block : words.unblock}
                </Button>
              </>
            }
          />
          <div className="grid gap-6">
            {known.organization.blocked_at !== null && (
              <Notice tone="danger">{words.organizationBlocked}</Notice>
            )}
            <BalanceFigures organizationId={organization_id} />
            <BudgetsSection budgets={known.budgets ?? []} />
            <AutoTopUpSection autoTopUp={known.auto_top_up} />
            <MembersSection customer={known} />
            <Lists organizationId={organization_id} />
          </div>
          {isAdjusting && (
            <AdjustDialog organizationId={organization_id} onClose={() => setAdjusting(false)} />
          )}
          {isBlocking && (
            <BlockOrganizationDialog organization={known.organization} onClose={() => setBlocking(false)} />
          )}
        </>
      )}
    </Loaded>
  )
}

function BalanceFigures({ organizationId }: { readonly organizationId: string }) {
  const words = useWords(customerWords)
  const balance = useRead('/admin/organizations/:organization_id/balance', {
    params: { organization_id: organizationId },
  })
  const shown = (rubles: string | null) => (rubles === null ? words.unknown : <Money rubles={rubles} />)
  return (
    <Loaded query={balance} skeleton={<Skeleton heightRem={7} />}>
      {({ balance_rub, held_rub, available_rub, pending_rub }) => (
        <div className="grid gap-4 lg:grid-cols-3">
          <Figure
            label={words.balance}
            value={<Money rubles={balance_rub} />}
            note={
              <>
                {words.posted}: {shown(pending_rub)}
              </>
            }
          />
          <Figure label={words.held} value={shown(held_rub)} />
          <Figure label={words.available} value={shown(available_rub)} />
        </div>
      )}
    </Loaded>
  )
}

/** The organization's own limits, if it has any. */
function BudgetsSection({ budgets }: { readonly budgets: Customer['budgets'] }) {
  const words = useWords(customerWords)
  if (budgets.length === 0) return null
  return (
    <Section title={words.budgets}>
      <dl className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
        {budgets.map(({ period, budget_rub, spent_rub }) => (
          <div key={period} className="min-w-0">
            <dt className="text-sm text-muted">{words.budgetPeriods[period]}</dt>
            <dd>
              <Money rubles={spent_rub} isSpent /> / <Money rubles={budget_rub} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}

/** The saved card and what it may be charged, if there is one. */
function AutoTopUpSection({ autoTopUp }: { readonly autoTopUp: Customer['auto_top_up'] | undefined }) {
  const words = useWords(customerWords)
  const language = useLanguage()
  if (autoTopUp?.card == null) return null
  const { state, card, settings, charged_today_rub, stop } = autoTopUp
  const facts = [
    words.autoTopUpStates[state],
    ...(stop === null ? [] : [stop.reason]),
    words.savedCard(card.brand, card.last4, card.expires),
    ...(settings === null
      ? []
      : [
          words.autoTopUpRule(
            formatRoubles(settings.amount_rub, language),
            formatRoubles(settings.threshold_rub, language),
          ),
          words.autoTopUpToday(
            formatRoubles(charged_today_rub, language),
            formatRoubles(settings.daily_max_rub, language),
          ),
        ]),
  ]
  return (
    <Section title={words.autoTopUp}>
      <p>{facts.join(' · ')}</p>
    </Section>
  )
}

function Lists({ organizationId }: { readonly organizationId: string }) {
  const words = useWords(customerWords)
  const tabs = [
    { id: 'timeline', name: words.timeline, content: <TimelineSection organizationId={organizationId} /> },
    { id: 'keys', name: words.keys, content: <KeysSection organizationId={organizationId} /> },
    { id: 'requests', name: words.requests, content: <RequestsSection organizationId={organizationId} /> },
    {
      id: 'rejections',
      name: words.rejections,
      content: <RejectionsSection organizationId={organizationId} />,
    },
    {
      id: 'payments',
      name: words.payments,
      content: <PaymentsTable caption={words.payments} organizationId={organizationId} />,
    },
    { id: 'ledger', name: words.ledger, content: <LedgerSection organizationId={organizationId} /> },
    { id: 'emails', name: words.emails, content: <EmailsSection organizationId={organizationId} /> },
  ]
  return (
    <Section title={words.sections}>
      <Tabs label={words.sections} tabs={tabs} />
    </Section>
  )
}
