import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { DateTime } from '../../kit/date-time.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { shareOf } from '../../money/rubles.ts'
import { BudgetRow } from './budget-row.tsx'
import { overviewWords } from './messages.ts'

type Budget = Answer<'GET /overview'>['organization_budgets'][number]

/** What all keys have spent of the organization's budgets; nothing if it has none. */
export function OrganizationBudgets() {
  const words = useWords(overviewWords)
  const mayChange = useMay('organization.write')
  const budgets = useRead('/overview').data?.organization_budgets ?? []
  if (budgets.length === 0) return null
  return (
    <Section
      title={words.organizationBudgets}
      lead={words.organizationBudgetsLead}
      actions={mayChange && <TextLink href="/app/billing">{words.changeLimits}</TextLink>}
      isFlush
    >
      <ul className="divide-y divide-line">
        {budgets.map((budget) => (
          <BudgetItem key={budget.period} shown={budget} />
        ))}
      </ul>
    </Section>
  )
}

function BudgetItem({ shown: { period, budget_rub, spent_rub, resets_at } }: { readonly shown: Budget }) {
  const words = useWords(overviewWords)
  const share = shareOf(spent_rub, budget_rub)
  const name = words.limitPeriods[period]
  return (
    <BudgetRow
      name={<span>{name}</span>}
      spent={spent_rub}
      budget={budget_rub}
      share={share}
      label={words.limitUsed(name, Math.floor(share * 100))}
    >
      {share >= 1 && (
        <p className="text-sm text-danger">
          {words.limitReached}
          {resets_at !== null && (
            <>
              {' '}
              {words.limitResets} <DateTime at={resets_at} />
            </>
          )}
        </p>
      )}
    </BudgetRow>
  )
}
