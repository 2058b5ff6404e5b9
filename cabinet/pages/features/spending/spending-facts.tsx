import type { ReactNode } from 'react'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ExpandableMoney } from '../../kit/expandable-money.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { spendingWords } from './messages.ts'
import { Sparkline } from './sparkline.tsx'
import { requestsOf, type Spending } from './spending.ts'
import { type Top, TopList } from './top-list.tsx'

/** The sums of 30 days with their sparkline; `keyId`: all of it is of this key. */
export function SpendingFacts({ spending, keyId }: { readonly spending: Spending; readonly keyId?: string }) {
  const words = useWords(spendingWords)
  const { format } = new Intl.NumberFormat(useLanguage())
  const { days, cost_rub, requests } = spending
  const filter = keyId === undefined ? {} : { key_id: keyId }
  return (
    <div className="grid items-end gap-x-8 gap-y-4 sm:grid-cols-[auto_1fr]">
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        <Sum name={words.spent}>
          <ExpandableMoney rubles={cost_rub} isSpent />
        </Sum>
        <Sum name={words.requestCount}>
          <TextLink href={requestsOf(spending, filter)}>{format(requests)}</TextLink>
        </Sum>
      </dl>
      <Sparkline days={days} rubles={cost_rub} />
    </div>
  )
}

function Sum({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid gap-1">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-2xl font-semibold">{children}</dd>
    </div>
  )
}

/** The keys with the highest costs; nothing if none cost anything. */
export function TopKeys({ spending }: { readonly spending: Spending }) {
  const words = useWords(spendingWords)
  const tops = spending.top_keys.map(
    ({ api_key_id: id, api_key_name, requests, cost_rub }): Top => ({
      id,
      name: api_key_name ?? words.noKey,
      href: requestsOf(spending, { key_id: id }),
      requests,
      rubles: cost_rub,
    }),
  )
  if (tops.length === 0) return null
  return <TopList title={words.topKeys} tops={tops} whole={spending.cost_rub} />
}

/** The same of models; `keyId`: of the requests of this key. */
export function TopModels({ spending, keyId }: { readonly spending: Spending; readonly keyId?: string }) {
  const words = useWords(spendingWords)
  const tops = spending.top_models.map(
    ({ model, requests, cost_rub }): Top => ({
      id: model,
      name: model,
      href: requestsOf(spending, { ...(keyId !== undefined && { key_id: keyId }), model }),
      requests,
      rubles: cost_rub,
    }),
  )
  if (tops.length === 0) return null
  return <TopList title={words.topModels} tops={tops} whole={spending.cost_rub} />
}
