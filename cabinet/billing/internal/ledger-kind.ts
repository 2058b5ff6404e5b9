import { z } from 'zod'

/** What a row of the ledger books: two kinds of requests, and the credits. */
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
