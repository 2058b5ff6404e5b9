import type { ReactNode } from 'react'
import { serverNowMs } from '../../api/server-clock.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useMay } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { nanoOf, rublesOf } from '../../money/rubles.ts'
import { dayOf } from '../../time/days.ts'
import type { Key, RevokedKey } from './key.ts'
import { AllowedModels, LastUsed, Rates, TodayBar } from './key-signs.tsx'
import { budgetNames } from './key-values.ts'
import { keyWords } from './messages.ts'

/** Today's spending of a key, and all details that its limits form, if any, does not show. */
export function KeyDetails({ shown, hasForm }: { readonly shown: Key; readonly hasForm: boolean }) {
  const words = useWords(keyWords)
  const isOurs = shown.managed_by === 'cabinet'
  const mayReadUsage = useMay('usage.read')
  const today = dayOf(new Date(serverNowMs()).toISOString(), useTimeZone())
  const todaysRequests = new URLSearchParams({ key_id: shown.id, from: today, to: today, type: 'request' })
  return (
    <Section title={words.details}>
      <dl className="grid gap-x-8 gap-y-5 sm:grid-cols-2 lg:grid-cols-3">
        <Detail name={words.today}>
          <TodayBar shown={shown} />
          {mayReadUsage && (
            <span className="block text-sm">
              <TextLink href={`/app/requests?${todaysRequests}`}>{words.itsRequests}</TextLink>
            </span>
          )}
        </Detail>
        {shown.daily_budget_rub !== null && (
          <Detail name={words.budgetLeft} note={words.resetsAtMidnight}>
            <Money rubles={leftOf(shown.daily_budget_rub, shown.spent_today_rub)} />
          </Detail>
        )}
        <Detail name={words.lastUsed}>
          <LastUsed shown={shown} />
        </Detail>
        {!hasForm && (
          <>
            <LongerBudgets shown={shown} />
            <Detail name={words.perMinute}>
              <Rates shown={shown} />
            </Detail>
            <Detail name={words.models}>
              <AllowedModels shown={shown} />
            </Detail>
            {shown.allowed_ips !== null && (
              <Detail name={words.allowedIps}>
                <span className="wrap-anywhere">{shown.allowed_ips.join(', ')}</span>
              </Detail>
            )}
            <Detail name={words.keepsHours}>{shown.keeps_responses_hours ?? words.notKept}</Detail>
          </>
        )}
        <Detail name={words.expiresAt}>
          {shown.expires_at === null ? words.forever : <DateTime at={shown.expires_at} />}
        </Detail>
        <Detail name={words.secretHint}>
          <code className="font-mono text-sm wrap-anywhere">{shown.secret_hint ?? '—'}</code>
        </Detail>
        {shown.secrets_in_grace.map(({ secret_hint, valid_until }) => (
          <Detail key={secret_hint} name={words.graceUntil}>
            <DateTime at={valid_until} />
            <code className="block font-mono text-sm text-muted wrap-anywhere">{secret_hint}</code>
          </Detail>
        ))}
        <Detail name={words.createdAt}>
          <DateTime at={shown.created_at} />
        </Detail>
        <Detail name={words.madeIn}>{isOurs ? words.inCabinet : words.byKubectl}</Detail>
        <Origin shown={shown} />
      </dl>
    </Section>
  )
}

const longerBudgets = budgetNames.filter((name) => name !== 'daily_budget_rub')

/** The budgets of a key by week, month and in total that are set. */
export function LongerBudgets({ shown }: { readonly shown: Key | RevokedKey }) {
  const words = useWords(keyWords)
  return longerBudgets.map((name) => {
    const budget = shown[name]
    return (
      budget !== null && (
        <Detail key={name} name={words.budgets[name]}>
          <Money rubles={budget} isExact />
        </Detail>
      )
    )
  })
}

/** The cluster, namespace and name of the resource that owns a key. */
export function Origin({ shown: { kubernetes } }: { readonly shown: Pick<Key, 'kubernetes'> }) {
  const words = useWords(keyWords)
  if (kubernetes === null) return null
  const { cluster, namespace, name } = kubernetes
  const parts = [
    [words.cluster, cluster],
    [words.namespace, namespace],
    [words.resource, name],
  ] as const
  return parts.map(([label, value]) => (
    <Detail key={label} name={label}>
      <code className="font-mono text-sm wrap-anywhere">{value}</code>
    </Detail>
  ))
}

export function Detail({
  name,
  note,
  children,
}: {
  readonly name: string
  readonly note?: string
  readonly children: ReactNode
}) {
  return (
    <div className="grid min-w-0 content-start gap-1">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="min-w-0">
        {children}
        {note !== undefined && <span className="block text-xs text-muted">{note}</span>}
      </dd>
    </div>
  )
}

function leftOf(budget: string, spent: string): string {
  const left = nanoOf(budget) - nanoOf(spent)
  return rublesOf(left > 0n ? left : 0n)
}
