import { z } from 'zod'

/** Kinds of ledger entries: two for requests, the others for credits. */
export const ledgerKind = z.enum([
  'charge',
  'adjust',
  'top_up',
  'trial',
  'welcome',
  'refund',
  'adjustment',
  'bonus_reversal',
])

export type LedgerKind = z.infer<typeof ledgerKind>
