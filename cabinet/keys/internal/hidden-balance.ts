import { hasRight } from '../../api/access.ts'

type Limit = { readonly scope: string | null; readonly limit: unknown; readonly used: unknown }

/**
 * The balance's amounts are only for callers who may read it. The others still see whether the balance rejects
 * requests. Pure.
 */
export function hideBalance<Shown extends Limit>(
  caller: Parameters<typeof hasRight>[0],
  shown: Shown,
): Shown {
  if (shown.scope !== 'balance' || hasRight(caller, 'billing.read')) return shown
  const { held, remaining } = shown as Partial<Record<'held' | 'remaining', unknown>>
  return {
    ...shown,
    limit: null,
    used: null,
    ...(held === undefined ? {} : { held: null }),
    ...(remaining === undefined ? {} : { remaining: null }),
  }
}
