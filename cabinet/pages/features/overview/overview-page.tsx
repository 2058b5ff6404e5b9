import { useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { EmptyState } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { RefusalList } from '../keys/refusal-list.tsx'
import { refusalWords } from '../keys/refusal-messages.ts'
import { isAwaited, useSpending } from '../spending/spending.ts'
import { ReceivedInvitations } from '../team/received-invitations.tsx'
import { Checklist, useSteps } from './checklist.tsx'
import { Figures } from './figures.tsx'
import { KeysNearBudget } from './keys-near-budget.tsx'
import { overviewWords } from './messages.ts'
import { OrganizationBudgets } from './organization-budgets.tsx'
import { SpendingSection } from './spending-section.tsx'

/** Rejections change no data, so there are no hints for them. */
const refusalsMs = 3_000
const refusalsShown = 5

export function OverviewPage() {
  const words = useWords(overviewWords)
  const language = useLanguage()
  const steps = useSteps()
  const spending = useSpending()
  const overview = useRead('/overview')
  // A new organization sees only what helps it start.
  const isNew = overview.data?.first_request_at === null && steps?.some(({ isDone }) => !isDone) === true
  const mayMakeKeys = useMay('keys.write')
  const maySeeKeys = useMay('keys.read')
  const mayPay = useMay('billing.write')
  return (
    <>
      <PageHead
        title={pageRoutes['/app'].title[language]}
        lead={words.lead}
        actions={
          <>
            {mayMakeKeys && <ButtonLink href="/app/keys?new">{words.newKey}</ButtonLink>}
            {mayPay && (
              <ButtonLink href="/app/billing" variant="primary">
                {words.topUp}
              </ButtonLink>
            )}
          </>
        }
      />
      {/* All at once: a part that came later would push the rest down. */}
      {steps === undefined || isAwaited(spending) ? (
        <Skeleton heightRem={48} />
      ) : (
        <div className="grid gap-6">
          <ReceivedInvitations />
          <Checklist steps={steps} />
          {!isNew && <Figures />}
          <OrganizationBudgets />
          {!isNew && <SpendingSection spending={spending} />}
          {maySeeKeys && <KeysNearBudget />}
          {maySeeKeys && <LastRefusals />}
        </div>
      )}
    </>
  )
}

/** Last on the page, so that its arrival moves nothing; nothing without rejections, unless they cannot be read. */
function LastRefusals() {
  const words = useWords(overviewWords)
  const { notLive } = useWords(refusalWords)
  const input = { query: { limit: refusalsShown } }
  const { data } = useRead('/refusals', input, { refetchInterval: refusalsMs })
  if (data === undefined || (data.live && data.data.length === 0)) return null
  return (
    <Section
      title={words.refusalsTitle}
      lead={words.refusalsLead}
      actions={<TextLink href="/app/requests?type=rejection">{words.allRefusals}</TextLink>}
      isFlush
    >
      {data.data.length > 0 ? <RefusalList refusals={data.data} /> : <EmptyState text={notLive} />}
    </Section>
  )
}
