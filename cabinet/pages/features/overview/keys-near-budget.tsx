import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { shareOf } from '../../money/rubles.ts'
import { overviewWords } from './messages.ts'

type NearKey = Answer<'GET /overview'>['keys_near_budget'][number]

/** Keys that have reached today's budget or will soon. */
export function KeysNearBudget() {
  const words = useWords(overviewWords)
  const overview = useRead('/overview')
  const hasKeys = (overview.data?.keys_near_budget.length ?? 0) > 0
  return (
    <Section
      title={words.nearTitle}
      lead={words.nearLead}
      actions={hasKeys && <TextLink href="/app/keys">{words.allKeys}</TextLink>}
      isFlush
    >
      <Loaded query={overview} skeleton={<SkeletonRows count={2} />}>
        {({ keys_near_budget: keys }) =>
          keys.length > 0 ? (
            <ul className="divide-y divide-line">
              {keys.map((key) => (
                <NearKeyItem key={key.id} shown={key} />
              ))}
            </ul>
          ) : (
            <EmptyState
              text={words.nearEmpty}
              action={
                <ButtonLink href="/app/keys" size="small">
                  {words.allKeys}
                </ButtonLink>
              }
            />
          )
        }
      </Loaded>
    </Section>
  )
}

function NearKeyItem({ shown }: { readonly shown: NearKey }) {
  const words = useWords(overviewWords)
  const { id, name, spent_today_rub, daily_budget_rub } = shown
  const share = shareOf(spent_today_rub, daily_budget_rub)
  return (
    <li className="grid gap-2 px-5 py-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <TextLink href={`/app/keys/${id}`}>
          <bdi className="line-clamp-1 wrap-anywhere">{name}</bdi>
        </TextLink>
        <span className="text-sm">
          <Money rubles={spent_today_rub} isSpent />{' '}
          <span className="text-muted">
            {words.ofBudget} <Money rubles={daily_budget_rub} />
          </span>
        </span>
      </div>
      <ProgressBar share={share} label={words.used(name, Math.floor(share * 100))} />
    </li>
  )
}
