import { BillingFrame } from './billing-frame.tsx'
import { LedgerSection } from './ledger-section.tsx'

/** Every change of the balance. */
export function HistoryPage() {
  return (
    <BillingFrame path="/app/billing/history">
      <LedgerSection />
    </BillingFrame>
  )
}
