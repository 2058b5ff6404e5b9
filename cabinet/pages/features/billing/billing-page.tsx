import { useEffect } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { ExpandableMoney } from '../../kit/expandable-money.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Figure } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { compareRubles } from '../../money/rubles.ts'
import { AutoTopUpSection } from './auto-top-up-section.tsx'
import { BillingFrame } from './billing-frame.tsx'
import { KubernetesSection } from './kubernetes-section.tsx'
import { filterNames } from './ledger-section.tsx'
import { billingWords } from './messages.ts'
import { SpendingLimitsSection } from './spending-limits-section.tsx'
import { ThresholdSection } from './threshold-section.tsx'
import { TopUpSection } from './top-up-section.tsx'

/** The balance, and ways to top it up. */
export function BillingPage() {
  const balance = useRead('/balance')
  useOldAddress()
  return (
    <BillingFrame path="/app/billing">
      <Loaded query={balance} skeleton={<Skeleton heightRem={9} />}>
        {(known) => <Figures {...known} />}
      </Loaded>
      <div className="grid items-start gap-6 lg:grid-cols-[3fr_2fr]">
        <TopUpSection />
        <ThresholdSection />
      </div>
      <AutoTopUpSection />
      <SpendingLimitsSection />
      <KubernetesSection />
    </BillingFrame>
  )
}

/** The history was on this page, with its filters in the address. */
function useOldAddress(): void {
  const search = useSearch()
  useEffect(() => {
    const given = new URLSearchParams(search)
    if (filterNames.some((name) => given.has(name)))
      navigate(`/app/billing/history?${given}`, { replace: true })
  }, [search])
}

function Figures({ balance_rub, pending_rub, held_rub, available_rub }: Answer<'GET /balance'>) {
  const words = useWords(billingWords)
  const hasUnbooked = pending_rub !== null && compareRubles(pending_rub, '0') !== 0
  return (
    <div className="grid gap-4 lg:grid-cols-3">
      <Figure
        label={words.balance}
        value={<ExpandableMoney rubles={balance_rub} />}
        {...(hasUnbooked && {
          note: (
            <>
              {words.unbooked} <ExpandableMoney rubles={pending_rub} isSpent />
            </>
          ),
        })}
      />
      <LiveFigure label={words.held} rubles={held_rub} note={words.heldNote} />
      <LiveFigure label={words.available} rubles={available_rub} note={words.availableNote} />
    </div>
  )
}

/** Figures that only Redis has; unknown while Redis is unavailable. */
function LiveFigure({
  label,
  rubles,
  note,
}: {
  readonly label: string
  readonly rubles: string | null
  readonly note: string
}) {
  const words = useWords(billingWords)
  if (rubles === null)
    return (
      <Figure
        label={label}
        value={<span className="text-muted">{words.unknown}</span>}
        note={words.unknownNote}
      />
    )
  return <Figure label={label} value={<ExpandableMoney rubles={rubles} />} note={note} />
}
