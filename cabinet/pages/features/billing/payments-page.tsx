import { BillingFrame } from './billing-frame.tsx'
import { BonusesSection } from './bonuses-section.tsx'
import { DocumentsSection } from './documents-section.tsx'
import { PaymentsSection } from './payments-section.tsx'

/** Payments, bonuses, and the files and texts that bookkeeping needs. */
export function PaymentsPage() {
  return (
    <BillingFrame path="/app/billing/payments">
      <DocumentsSection />
      <BonusesSection />
      <PaymentsSection />
    </BillingFrame>
  )
}
