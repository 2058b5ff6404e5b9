import type { ReactNode } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { overviewWords } from './messages.ts'

/** A budget and the part that is spent, as one item of a list. */
export function BudgetRow({
  name,
  spent,
  budget,
  period,
  share,
  label,
  children,
}: {
  readonly name: ReactNode
  /** Rubles. */
  readonly spent: string
  readonly budget: string
  /** After the amounts. */
  readonly period?: string
  readonly share: number
  /** Of the bar, for screen readers. */
  readonly label: string
  /** Below the bar. */
  readonly children?: ReactNode
}) {
  const words = useWords(overviewWords)
  return (
    <li className="grid gap-2 px-5 py-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        {name}
        <span className="text-sm">
          <Money rubles={spent} isSpent />{' '}
          <span className="text-muted">
            {words.ofBudget} <Money rubles={budget} /> {period}
          </span>
        </span>
      </div>
      <ProgressBar share={share} label={label} />
      {children}
    </li>
  )
}
