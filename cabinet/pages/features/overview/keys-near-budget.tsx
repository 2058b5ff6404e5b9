import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { shareOf } from '../../money/rubles.ts'
import { BudgetRow } from './budget-row.tsx'
import { overviewWords } from './messages.ts'

type NearKey = Answer<'GET /overview'>['near_budgets'][number]

/** Keys that have reached a budget or will soon; nothing without them. */
export function KeysNearBudget() {
  const words = useWords(overviewWords)
  const near = useRead('/overview').data?.near_budgets ?? []
  if (near.length === 0) return null
  return (
    <Section
      title={words.nearTitle}
      lead={words.nearLead}
      actions={<TextLink href="/app/keys">{words.allKeys}</TextLink>}
      isFlush
    >
      <ul className="divide-y divide-line">
        {near.map((key) => (
          <NearKeyItem key={key.id} shown={key} />
        ))}
      </ul>
    </Section>
  )
}

function NearKeyItem({ shown }: { readonly shown: NearKey }) {
  const words = useWords(overviewWords)
  const { id, name, period, budget_rub, spent_rub } = shown
  const share = shareOf(spent_rub, budget_rub)
  return (
    <BudgetRow
      name={
        <TextLink href={`/app/keys/${id}`}>
          <bdi className="line-clamp-1 wrap-anywhere">{name}</bdi>
        </TextLink>
      }
      spent={spent_rub}
      budget={budget_rub}
      period={words.periods[period]}
      share={share}
      label={words.used(name, Math.floor(share * 100), words.periods[period])}
    />
  )
}
