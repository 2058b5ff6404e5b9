import { useLanguage, useWords } from '../../i18n/language.ts'
import { compareRubles, formatRoubles, shareOf } from '../../money/rubles.ts'
import { formatDay } from '../../time/days.ts'
import { spendingWords } from './messages.ts'
import type { Spending } from './spending.ts'

/** The height of the drawing; its width is the number of days, and CSS stretches both. */
const high = 100
/** Of the smallest cost, or it would be invisible. */
const barMin = 3

/** One bar for each day, without axes; screen readers get the sum, the highest day and a list of all days. */
export function Sparkline({ days, rubles }: { readonly days: Spending['days']; readonly rubles: string }) {
  const words = useWords(spendingWords)
  const language = useLanguage()
  const highest = days.toSorted((a, b) => compareRubles(b.cost_rub, a.cost_rub))[0]
  const nameOf = (day: string) => formatDay(day, language)
  const sumOf = (sum: string) => formatRoubles(sum, language, 'spent')
  const [from, to] = [nameOf(days[0]?.day ?? ''), nameOf(days.at(-1)?.day ?? '')]
  const isEmpty = highest === undefined || compareRubles(highest.cost_rub, '0') <= 0
  const name = [
    words.chartName(from, to, sumOf(rubles)),
    ...(isEmpty ? [] : [words.highest(nameOf(highest.day), sumOf(highest.cost_rub))]),
  ].join(' ')
  return (
    <div className="grid gap-1">
      <svg
        role="img"
        aria-label={name}
        className="h-16 w-full border-b border-edge forced-color-adjust-none"
        viewBox={`0 0 ${days.length} ${high}`}
        preserveAspectRatio="none"
      >
        {days.map(({ day, cost_rub }, index) => {
          const height = isEmpty ? 0 : heightOf(cost_rub, highest.cost_rub)
          return (
            <rect
              key={day}
              data-day={day}
              data-value={cost_rub}
              x={index + 0.1}
              y={high - height}
              width={0.8}
              height={height}
              className="fill-series-1"
            />
          )
        })}
      </svg>
      <div aria-hidden="true" className="flex justify-between text-xs text-muted">
        <span>{from}</span>
        <span>{to}</span>
      </div>
      <ul aria-label={words.daily} className="sr-only">
        {days.map(({ day, cost_rub }) => (
          <li key={day}>{words.onDay(nameOf(day), sumOf(cost_rub))}</li>
        ))}
      </ul>
    </div>
  )
}

function heightOf(rubles: string, highest: string): number {
  return compareRubles(rubles, '0') <= 0 ? 0 : Math.max(barMin, shareOf(rubles, highest) * high)
}
