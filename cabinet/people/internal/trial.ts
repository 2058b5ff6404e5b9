import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { TrialRules } from '#core/ledger/trial-settings'
import { addressHash } from '../address-hash.ts'
import { countedDomainOf } from './mail-domain.ts'

type Granted = 'granted' | 'had_before' | 'withheld_for_domain' | 'withheld_for_daily_total'

/**
 * Grants or promises the trial of a newly confirmed address, once per mailbox. The trial may be withheld, which is
 * audited. Everything else in the account works.
 */
export async function giveTrial(
  client: ScopedClient,
  { organizationId, email }: { readonly organizationId: string; readonly email: string },
  { keyPepper, trials }: { readonly keyPepper: string; readonly trials: TrialRules },
): Promise<void> {
  if (trials.grant === 'none') return
  const of = [organizationId, addressHash(email, keyPepper), countedDomainOf(email), trials.dailyMax]
  const subject = { kind: 'Organization', id: organizationId } as const
  if (trials.grant === 'first_top_up') {
    await client.change<{ promised: boolean }>(
      'select promise_trial($1, $2, $3, $4) as promised',
      of,
      ([answer]) =>
        answer?.promised === true
          ? { action: 'organization.promise_trial', subject, organizationId, before: null, after: null }
          : undefined,
    )
    return
  }
  const bonusId = randomUUID()
  await client.change<{ answer: Granted }>(
    'select grant_trial($1, $2, $3, $4, $5) as answer',
    [bonusId, ...of],
    ([{ answer } = { answer: 'had_before' }]) => {
      if (answer === 'had_before') return undefined
      const isGranted = answer === 'granted'
      return {
        subject,
        organizationId,
        before: null,
        action: isGranted ? 'organization.grant_trial' : 'organization.withhold_trial',
        after: isGranted ? { bonusId } : { why: answer.replace('withheld_for_', '') },
      }
    },
  )
}
