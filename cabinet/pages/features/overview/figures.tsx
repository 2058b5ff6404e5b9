import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { nameOfZone } from '../../kit/date-time.tsx'
import { ExpandableMoney } from '../../kit/expandable-money.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Figure } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles } from '../../money/rubles.ts'
import { dayOf } from '../../time/days.ts'
import { overviewWords } from './messages.ts'

/** The balance, and today compared with yesterday. */
export function Figures() {
  return (
    <div className="grid items-stretch gap-4 sm:grid-cols-2 lg:grid-cols-3">
      {useMay('billing.read') && <BalanceFigure />}
      <DayFigures />
    </div>
  )
}

function BalanceFigure() {
  const words = useWords(overviewWords)
  const balance = useRead('/balance')
  return (
    <Loaded query={balance} skeleton={<Skeleton heightRem={8} />}>
      {(found) => (
        <Figure
          label={words.balance}
          value={<ExpandableMoney rubles={found.balance_rub} />}
          note={<BalanceNote balance={found} />}
        />
      )}
    </Loaded>
  )
}

function BalanceNote({ balance }: { readonly balance: Answer<'GET /balance'> }) {
  const words = useWords(overviewWords)
  const { balance_rub, held_rub, low_balance_threshold_rub: threshold } = balance
  if (threshold !== null && compareRubles(balance_rub, threshold) < 0)
    return <span className="text-warning">{words.lowBalance}</span>
  if (held_rub === null || compareRubles(held_rub, '0') <= 0) return words.nothingHeld
  return (
    <>
      {words.held} <ExpandableMoney rubles={held_rub} isSpent />
    </>
  )
}

/** The address of a day's requests. */
function requestsOf({ from }: { readonly from: string }, timeZone: string): string {
  const day = dayOf(from, timeZone)
  return `/app/requests?${new URLSearchParams({ from: day, to: day, type: 'request' })}`
}

function DayFigures() {
  const words = useWords(overviewWords)
  const language = useLanguage()
  const overview = useRead('/overview')
  const count = new Intl.NumberFormat(language)
  return (
    <Loaded query={overview} skeleton={<Skeleton heightRem={8} />}>
      {({ time_zone, today, yesterday }) => {
        const zone = words.zone(nameOfZone(time_zone, language, today.from))
        return (
          <>
            <Figure
              label={words.spentToday}
              value={<ExpandableMoney rubles={today.cost_rub} isSpent />}
              note={
                <span title={zone}>
                  {words.yesterday} <Money rubles={yesterday.cost_rub} isSpent />
                </span>
              }
            />
            <Figure
              label={words.requestsToday}
              value={<TextLink href={requestsOf(today, time_zone)}>{count.format(today.requests)}</TextLink>}
              note={
                <span title={zone}>
                  {words.yesterday}{' '}
                  <TextLink href={requestsOf(yesterday, time_zone)}>
                    {count.format(yesterday.requests)}
                  </TextLink>
                </span>
              }
            />
          </>
        )
      }}
    </Loaded>
  )
}
