import { administrationRoutes } from '../../administration-routes.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { PageHead, Section } from '../../kit/section.tsx'
import { moneyWords } from './messages.ts'
import { PaymentsTable } from './payments-table.tsx'

/** Payments of all organizations. */
export function PaymentsPage() {
  const words = useWords(moneyWords)
  const title = administrationRoutes['/app/payments'].title[useLanguage()]
  return (
    <>
      <PageHead title={title} lead={words.paymentsLead} />
      <Section title={title} isFlush>
        <PaymentsTable caption={title} />
      </Section>
    </>
  )
}
