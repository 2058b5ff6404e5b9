import { serverNowMs } from '../../api/server-clock.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge, type Tone } from '../../kit/badge.tsx'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { shareOf } from '../../money/rubles.ts'
import { addDays, dayOf } from '../../time/days.ts'
import { type Key, type KeyStanding, standingOf } from './key.ts'
import { keyWords } from './messages.ts'

const tones: Readonly<Record<KeyStanding, Tone>> = {
  active: 'success',
  expired: 'neutral',
  balance: 'warning',
  owner: 'danger',
  admin: 'danger',
  kubernetes: 'danger',
}

export function StandingBadge({ shown }: { readonly shown: Key }) {
  const words = useWords(keyWords)
  const standing = standingOf(shown, serverNowMs())
  const name = standing === 'active' || standing === 'expired' ? words[standing] : words.blockedBy[standing]
  return <Badge tone={tones[standing]}>{name}</Badge>
}

/** A key's name with the way to its page, the visible part of its secret, and the cluster that owns it. */
export function NameCell({
  shown,
}: {
  readonly shown: Pick<Key, 'id' | 'name' | 'tags' | 'secret_hint' | 'kubernetes'>
}) {
  return (
    <span className="grid max-w-72 justify-items-start gap-1">
      <TextLink href={`/app/keys/${shown.id}`}>
        <bdi className="line-clamp-2 wrap-anywhere">{shown.name}</bdi>
      </TextLink>
      {shown.secret_hint !== null && (
        <code className="font-mono text-xs font-normal whitespace-nowrap text-muted">
          {shown.secret_hint}
        </code>
      )}
      {shown.tags.length > 0 && (
        <span className="text-xs font-normal wrap-anywhere text-muted">{shown.tags.join(' · ')}</span>
      )}
      <ClusterBadge shown={shown} />
    </span>
  )
}

/** The cluster that owns a key, if any. */
function ClusterBadge({ shown: { kubernetes } }: { readonly shown: Pick<Key, 'kubernetes'> }) {
  const words = useWords(keyWords)
  if (kubernetes === null) return null
  const { cluster, namespace, name } = kubernetes
  return (
    <span
      title={words.inCluster(cluster, namespace, name)}
      className="inline-flex max-w-full flex-wrap items-center gap-x-1.5 rounded-md bg-sunken px-2 py-0.5 text-xs font-normal text-muted"
    >
      <span>{words.madeByKubectl}</span>
      <span className="min-w-0 font-mono wrap-anywhere">
        {words.inCluster(shortCluster(cluster), namespace, name)}
      </span>
    </span>
  )
}

/** A cluster's name is a uid; its beginning is unique within an organization. */
const shortCluster = (id: string) => id.replace(/^([\da-f]{8})-[\da-f-]{27}$/, '$1…')

/** The amount spent today, and its share of the budget. */
export function TodayBar({ shown }: { readonly shown: Key }) {
  const words = useWords(keyWords)
  const { name, spent_today_rub, daily_budget_rub } = shown
  if (daily_budget_rub === null)
    return (
      <span className="inline-grid @max-3xl:justify-items-end">
        <Money rubles={spent_today_rub} isSpent />
        <span className="text-xs text-muted">{words.noBudget}</span>
      </span>
    )
  const share = shareOf(spent_today_rub, daily_budget_rub)
  return (
    <span className="inline-grid w-44 max-w-full gap-1.5">
      <span>
        <Money rubles={spent_today_rub} isSpent />{' '}
        <span className="text-muted">
          {words.ofBudget} <Money rubles={daily_budget_rub} />
        </span>
      </span>
      <ProgressBar share={share} label={words.usedOfBudget(name, Math.floor(share * 100))} />
    </span>
  )
}

/** The day of the last request, in the organization's zone. */
export function LastUsed({ shown: { last_used_hour } }: { readonly shown: Pick<Key, 'last_used_hour'> }) {
  const words = useWords(keyWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  if (last_used_hour === null) return <span className="whitespace-nowrap text-muted">{words.never}</span>
  const format = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
  })
  const today = dayOf(new Date(serverNowMs()).toISOString(), timeZone)
  const day = dayOf(last_used_hour, timeZone)
  return (
    <time dateTime={last_used_hour} className="whitespace-nowrap">
      {day === today
        ? words.todayWord
        : day === addDays(today, -1)
          ? words.yesterdayWord
          : format.format(new Date(last_used_hour))}
    </time>
  )
}

/** Requests and tokens per minute. */
export function Rates({ shown: { rpm, tpm } }: { readonly shown: Pick<Key, 'rpm' | 'tpm'> }) {
  const words = useWords(keyWords)
  const language = useLanguage()
  if (rpm === null && tpm === null)
    return <span className="whitespace-nowrap text-muted">{words.platformLimit}</span>
  const format = new Intl.NumberFormat(language)
  return (
    <span className="inline-grid whitespace-nowrap">
      {rpm !== null && <span>{words.requestsShort(format.format(rpm))}</span>}
      {tpm !== null && <span>{words.tokensShort(format.format(tpm))}</span>}
    </span>
  )
}

/** A single model by name, several as a count. */
export function AllowedModels({
  shown: { allowed_models },
}: {
  readonly shown: Pick<Key, 'allowed_models'>
}) {
  const words = useWords(keyWords)
  if (allowed_models === null) return words.allModels
  const [only] = allowed_models
  return (
    <span title={allowed_models.join('\n')}>
      {allowed_models.length === 1 ? only : words.modelsCount(allowed_models.length)}
    </span>
  )
}
