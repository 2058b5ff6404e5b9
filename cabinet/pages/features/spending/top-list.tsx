import { useWords } from '../../i18n/language.ts'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { shareOf } from '../../money/rubles.ts'
import { spendingWords } from './messages.ts'

export type Top = {
  readonly id: string
  readonly name: string
  /** The address of the requests behind its sum. */
  readonly href: string
  readonly requests: number
  readonly rubles: string
}

/** Keys or models with their costs, and the share of each in all the spending. */
export function TopList({
  title,
  tops,
  whole,
}: {
  readonly title: string
  readonly tops: readonly Top[]
  /** Rubles spent in all. */
  readonly whole: string
}) {
  const words = useWords(spendingWords)
  return (
    <div className="grid min-w-0 content-start gap-2">
      <h3 className="text-base">{title}</h3>
      <ol className="grid gap-3">
        {tops.map(({ id, name, href, requests, rubles }) => {
          const share = shareOf(rubles, whole)
          return (
            <li key={id} className="grid gap-1.5 text-sm">
              <div className="flex items-baseline justify-between gap-x-4">
                <span className="min-w-0 truncate">
                  <TextLink href={href}>
                    <bdi>{name}</bdi>
                  </TextLink>{' '}
                  <span className="text-muted">{words.requests(requests)}</span>
                </span>
                <Money rubles={rubles} isSpent />
              </div>
              <ProgressBar
                share={share}
                label={words.shareOfAll(name, Math.round(share * 100))}
                tone="accent"
              />
            </li>
          )
        })}
      </ol>
    </div>
  )
}
