import { administrationRoutes } from '../../administration-routes.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { useRead } from '../calls.ts'
import { Anchored, useAnchor } from './anchored.tsx'
import { operationWords } from './messages.ts'
import { MoneySection } from './money-section.tsx'
import { RejectedChargesSection } from './rejected-charges-section.tsx'
import { StateSections } from './state-sections.tsx'

/** The platform as a whole: money by day, and everything that waits for an operator. */
export function OperationsPage() {
  const words = useWords(operationWords)
  const title = administrationRoutes['/app/operations'].title[useLanguage()]
  const state = useRead('/admin/operations/state')
  useAnchor(state.data !== undefined)
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      <div className="grid gap-6">
        <Anchored id="money">
          <MoneySection />
        </Anchored>
        <Anchored id="rejected-charges">
          <RejectedChargesSection />
        </Anchored>
        <Loaded query={state} skeleton={<Skeleton heightRem={60} />}>
          {(data) => <StateSections state={data} />}
        </Loaded>
      </div>
    </>
  )
}
