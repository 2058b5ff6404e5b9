import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton, SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRoubles, shareOf } from '../../money/roubles.ts'
import { pageRoutes } from '../../page-routes.ts'
import { useLanguage, useWords } from '../../words/language.ts'
import { overviewWords } from '../../words/overview.ts'

type Key = Answer<'GET /keys'>['data'][number]
type Budgeted = Key & { readonly daily_budget_rub: string }

/** A first version: what there is, and who is near a limit. */
export function OverviewPage() {
  const words = useWords(overviewWords)
  const language = useLanguage()
  return (
    <>
      <PageHead
        title={pageRoutes['/app'].title[language]}
        lead={words.lead}
        actions={
          <>
            <ButtonLink href="/app/keys">{words.newKey}</ButtonLink>
            <ButtonLink href="/app/billing" variant="primary">
              {words.topUp}
            </ButtonLink>
          </>
        }
      />
      <div className="grid gap-6">
        <Figures />
        <KeysSection />
      </div>
    </>
  )
}

function Figures() {
  const words = useWords(overviewWords)
  const balance = useRead('/balance')
  return (
    <Loaded query={balance} skeleton={<Skeleton heightRem={8} />}>
      {({ balance_rub, held_rub }) => (
        <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
          <Figure
            label={words.balance}
            value={<Money roubles={balance_rub} />}
            note={
              held_rub !== null && (
                <>
                  {words.held} <Money roubles={held_rub} />
                </>
              )
            }
          />
        </div>
      )}
    </Loaded>
  )
}

function KeysSection() {
  const words = useWords(overviewWords)
  const keys = useRead('/keys', { query: { limit: 200 } })
  return (
    <Section
      title={words.keys}
      lead={words.keysLead}
      actions={<TextLink href="/app/keys">{words.allKeys}</TextLink>}
      isFlush
    >
      <Loaded query={keys} skeleton={<SkeletonRows count={3} />}>
        {({ data }) => <BudgetedKeys keys={fullestFirst(data)} />}
      </Loaded>
    </Section>
  )
}

function BudgetedKeys({ keys }: { readonly keys: readonly Budgeted[] }) {
  const words = useWords(overviewWords)
  if (keys.length === 0)
    return (
      <EmptyState
        text={words.noBudgets}
        action={<ButtonLink href="/app/keys">{words.openKeys}</ButtonLink>}
      />
    )
  const columns: readonly Column<Budgeted>[] = [
    {
      id: 'name',
      head: words.key,
      cell: (key) => (
        <span className="grid gap-2">
          <TextLink href={`/app/keys/${key.id}`}>{key.name}</TextLink>
          <UsedBar {...key} />
        </span>
      ),
    },
    {
      id: 'spent',
      head: words.today,
      isNumber: true,
      cell: (key) => <Money roubles={key.spent_today_rub} />,
    },
    {
      id: 'budget',
      head: words.budget,
      isNumber: true,
      cell: (key) => <Money roubles={key.daily_budget_rub} />,
    },
  ]
  return <Table caption={words.keys} columns={columns} rows={keys} keyOf={(key) => key.id} />
}

function UsedBar({ name, spent_today_rub, daily_budget_rub }: Budgeted) {
  const words = useWords(overviewWords)
  const share = shareOf(spent_today_rub, daily_budget_rub)
  return <ProgressBar share={share} label={words.used(name, Math.floor(share * 100))} />
}

function fullestFirst(keys: readonly Key[]): readonly Budgeted[] {
  const left = (key: Budgeted) => shareOf(key.spent_today_rub, key.daily_budget_rub)
  return keys
    .filter((key): key is Budgeted => key.daily_budget_rub !== null)
    .toSorted((a, b) => left(b) - left(a) || compareRoubles(b.spent_today_rub, a.spent_today_rub))
    .slice(0, 5)
}
