import { useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton, SkeletonRows } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { RefusalList } from '../keys/refusal-list.tsx'
import { refusalWords } from '../keys/refusal-messages.ts'
import { ReceivedInvitations } from '../team/received-invitations.tsx'
import { Checklist, useSteps } from './checklist.tsx'
import { Figures } from './figures.tsx'
import { KeysNearBudget } from './keys-near-budget.tsx'
import { overviewWords } from './messages.ts'

/** Rejections change no data, so there are no hints for them. */
const refusalsMs = 3_000
const refusalsShown = 5

export function OverviewPage() {
  const words = useWords(overviewWords)
  const language = useLanguage()
  const steps = useSteps()
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
      {/* All at once: a checklist that came later would push the rest down. */}
      {steps === undefined ? (
        <Skeleton heightRem={48} />
      ) : (
        <div className="grid gap-6">
          <ReceivedInvitations />
          <Checklist steps={steps} />
          <Figures />
          {maySeeKeys && <KeysNearBudget />}
          {maySeeKeys && <LastRefusals />}
        </div>
      )}
    </>
  )
}

function LastRefusals() {
  const words = useWords(overviewWords)
  const { notLive } = useWords(refusalWords)
  const input = { query: { limit: refusalsShown } }
  const refusals = useRead('/refusals', input, { refetchInterval: refusalsMs })
  const hasRefusals = (refusals.data?.data.length ?? 0) > 0
  return (
    <Section
      title={words.refusalsTitle}
      lead={words.refusalsLead}
      actions={hasRefusals && <TextLink href="/app/requests">{words.seeRequests}</TextLink>}
      isFlush
    >
      <Loaded query={refusals} skeleton={<SkeletonRows count={3} />}>
        {({ live, data }) =>
          data.length > 0 ? (
            <RefusalList refusals={data} />
          ) : (
            <EmptyState
              text={live ? words.refusalsEmpty : notLive}
              action={
                <ButtonLink href="/app/requests" size="small">
                  {words.seeRequests}
                </ButtonLink>
              }
            />
          )
        }
      </Loaded>
    </Section>
  )
}
