import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { shareOf } from '../../money/rubles.ts'
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
    <li className="grid gap-2 px-5 py-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <TextLink href={`/app/keys/${id}`}>
          <bdi className="line-clamp-1 wrap-anywhere">{name}</bdi>
        </TextLink>
        <span className="text-sm">
          <Money rubles={spent_rub} isSpent />{' '}
          <span className="text-muted">
            {words.ofBudget} <Money rubles={budget_rub} /> {words.periods[period]}
          </span>
        </span>
      </div>
      <ProgressBar share={share} label={words.used(name, Math.floor(share * 100), words.periods[period])} />
    </li>
  )
}
