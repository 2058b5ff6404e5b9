import { useState } from 'react'
import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'

export type Spending = Answer<'GET /spending'>

/** It sums up hundreds of hours of each key, so hints of single charges do not read it again. */
const pollMs = 30_000
/** Until the first request, which must be seen soon. */
const emptyPollMs = 5_000

/** The spending of the last 30 days, of one key if named. Nothing is read while `isEnabled` is false. */
export function useSpending({
  keyId,
  isEnabled = true,
}: {
  readonly keyId?: string
  readonly isEnabled?: boolean
} = {}) {
  const [everyMs, setEveryMs] = useState(emptyPollMs)
  const query = keyId === undefined ? {} : { key_id: keyId }
  const spending = useRead('/spending', { query }, { refetchInterval: everyMs, enabled: isEnabled })
  if (everyMs !== pollMs && (spending.data?.requests ?? 0) > 0) setEveryMs(pollMs)
  return spending
}

/** Whether a query has had neither data nor a problem yet. A failed one that is read again is not awaited again. Pure. */
export function isAwaited({
  isFetched,
  failureReason,
}: {
  readonly isFetched: boolean
  readonly failureReason: unknown
}): boolean {
  return !isFetched && failureReason === null
}

type Filter = { readonly [Name in 'key_id' | 'model']?: string }

/** The address of the settled requests behind a figure of the 30 days. Pure. */
export function requestsOf({ days }: Pick<Spending, 'days'>, filter: Filter = {}): string {
  return `/app/requests?${new URLSearchParams({ ...spanOf(days), type: 'request', ...filter })}`
}

/** The address of the same days on the usage page. Pure. */
export function usageOf({ days }: Pick<Spending, 'days'>): string {
  return `/app/usage?${new URLSearchParams({ range: 'custom', ...spanOf(days) })}`
}

function spanOf(days: Spending['days']): { readonly from: string; readonly to: string } {
  return { from: days[0]?.day ?? '', to: days.at(-1)?.day ?? '' }
}
