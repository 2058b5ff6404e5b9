import { useSearch } from 'wouter/use-browser-location'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Icon, type IconName } from '../../kit/icon.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { kitWords } from '../../kit/messages.ts'
import { Money } from '../../kit/money.tsx'
import { PageHead } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { pageRoutes } from '../../page-routes.ts'
import { billingWords } from './messages.ts'
import { type Payment, paymentTones, useReason } from './payment-words.ts'
import { type Asking, useSettledPayment } from './settled-payment.ts'

/** The page to which users return after paying; it also shows the status of a payment at any later time. */
export function ReturnPage() {
  const words = useWords(billingWords)
  const language = useLanguage()
  const paymentId = new URLSearchParams(useSearch()).get('payment') ?? ''
  if (paymentId === '')
    return (
      <>
        <PageHead title={pageRoutes['/app/billing/return'].title[language]} />
        <EmptyState
          text={words.noPayment}
          action={<ButtonLink href="/app/billing">{words.toBilling}</ButtonLink>}
        />
      </>
    )
  return <OnePayment key={paymentId} paymentId={paymentId} />
}

function OnePayment({ paymentId }: { readonly paymentId: string }) {
  const language = useLanguage()
  const { payment, asking, askAgain } = useSettledPayment(paymentId)
  return (
    <div className="mx-auto grid max-w-lg gap-6">
      <Loaded
        query={payment}
        heading={pageRoutes['/app/billing/return'].title[language]}
        skeleton={<Skeleton heightRem={24} />}
      >
        {(known) => (
          <>
            <Outcome payment={known} stage={stageOf(known, asking)} onAskAgain={askAgain} />
            <Facts {...known} />
          </>
        )}
      </Loaded>
    </div>
  )
}

type Stage = keyof (typeof billingWords)['ru']['returnTitle']

/** The message about a payment; while the payment is open, it depends on how long the page has checked. Pure. */
function stageOf({ status }: Payment, asking: Asking): Stage {
  if (status !== 'pending' && status !== 'waiting_for_capture') return status
  if (asking === 'slow' || asking === 'failed') return asking
  if (status === 'waiting_for_capture') return 'confirming'
  return asking === 'asking' ? 'asking' : 'pending'
}

const signs: Readonly<Record<Stage, { readonly icon: IconName; readonly looks: string }>> = {
  asking: { icon: 'billing', looks: 'bg-sunken text-muted breathing' },
  pending: { icon: 'billing', looks: 'bg-warning-soft text-warning' },
  confirming: { icon: 'billing', looks: 'bg-accent-soft text-accent breathing' },
  slow: { icon: 'billing', looks: 'bg-warning-soft text-warning' },
  failed: { icon: 'warning', looks: 'bg-warning-soft text-warning' },
  succeeded: { icon: 'check', looks: 'bg-success-soft text-success' },
  canceled: { icon: 'close', looks: 'bg-danger-soft text-danger' },
  partially_refunded: { icon: 'check', looks: 'bg-sunken text-muted' },
  refunded: { icon: 'check', looks: 'bg-sunken text-muted' },
}

function Outcome({
  payment,
  stage,
  onAskAgain,
}: {
  readonly payment: Payment
  readonly stage: Stage
  readonly onAskAgain: () => void
}) {
  const words = useWords(billingWords)
  const { retry } = useWords(kitWords)
  const { icon, looks } = signs[stage]
  return (
    <div className="grid justify-items-center gap-4 pt-6 text-center" aria-live="polite">
      <span className={`flex size-14 items-center justify-center rounded-full ${looks}`}>
        <Icon name={icon} size={24} />
      </span>
      <h1 className="text-2xl">{words.returnTitle[stage]}</h1>
      <div className="grid max-w-prose gap-1 text-muted">
        <Explanation payment={payment} stage={stage} />
      </div>
      <Actions>
        {payment.confirmation_url !== null && (stage === 'pending' || stage === 'slow') && (
          <a
            href={payment.confirmation_url}
            className="inline-flex min-h-10 items-center rounded-md bg-accent px-4 py-2 font-medium text-on-accent no-underline shadow-raised hover:bg-accent-strong"
          >
            {words.continuePaying}
          </a>
        )}
        {stage === 'failed' && (
          <Button variant="primary" onClick={onAskAgain}>
            {retry}
          </Button>
        )}
        {stage === 'canceled' && (
          <ButtonLink href="/app/billing" variant="primary">
            {words.again}
          </ButtonLink>
        )}
        {stage !== 'canceled' && <ButtonLink href="/app/billing">{words.toBilling}</ButtonLink>}
      </Actions>
    </div>
  )
}

function Explanation({ payment, stage }: { readonly payment: Payment; readonly stage: Stage }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const reasonOf = useReason()
  const bonus = useBonusOf(payment)
  const { amount_rub, refunded_rub, cancellation_reason } = payment
  const shown = formatRoubles(amount_rub, language)
  switch (stage) {
    case 'asking':
      return <p>{words.asking}</p>
    case 'pending':
      return <p>{words.pending}</p>
    case 'confirming':
      return <p>{words.confirming}</p>
    case 'slow':
      return <p>{words.slow}</p>
    case 'failed':
      return <p>{words.failed}</p>
    case 'succeeded':
      if (bonus === undefined) return <p>{words.credited(shown)}</p>
      return <p>{words.creditedWithBonus(shown, formatRoubles(bonus.amount, language))}</p>
    case 'canceled':
      return <p>{words.canceledBecause(reasonOf(cancellation_reason))}</p>
    default:
      return (
        <>
          <p>{words.returned(formatRoubles(refunded_rub, language))}</p>
          {bonus?.isReversed && <p>{words.reversedNote}</p>}
        </>
      )
  }
}

/** The bonus that came with a payment: its ledger entry follows that of the top-up. */
function useBonusOf({ id, created_at }: Payment) {
  const topUps = useRead('/ledger', { query: { kind: 'top_up', from: created_at, limit: 200 } })
  const welcomes = useRead('/ledger', { query: { kind: 'welcome', limit: 1 } })
  const bonuses = useRead('/bonuses')
  const topUp = topUps.data?.data.find(({ ref_id }) => ref_id === id)
  const welcome = welcomes.data?.data[0]
  if (topUp === undefined || welcome === undefined) return undefined
  if (BigInt(welcome.seq) !== BigInt(topUp.seq) + 1n) return undefined
  const bonus = bonuses.data?.data.find((one) => one.id === welcome.ref_id)
  return { amount: welcome.amount_rub, isReversed: bonus?.reversed_at != null }
}

function Facts({ id, amount_rub, status, created_at, succeeded_at }: Payment) {
  const words = useWords(billingWords)
  const timeZone = useTimeZone()
  const { data: balance } = useRead('/balance')
  return (
    <dl className="grid gap-3 rounded-lg border border-line bg-surface p-5 text-sm shadow-raised [&>div]:flex [&>div]:flex-wrap [&>div]:justify-between [&>div]:gap-x-4 [&_dt]:text-muted">
      <div>
        <dt>{words.paymentAmount}</dt>
        <dd className="font-medium">
          <Money rubles={amount_rub} />
        </dd>
      </div>
      <div>
        <dt>{words.status}</dt>
        <dd>
          <Badge tone={paymentTones[status]}>{words.statuses[status]}</Badge>
        </dd>
      </div>
      <div>
        <dt>{words.paymentCreated}</dt>
        <dd>
          <DateTime at={created_at} timeZone={timeZone} />
        </dd>
      </div>
      {succeeded_at !== null && (
        <div>
          <dt>{words.paymentCredited}</dt>
          <dd>
            <DateTime at={succeeded_at} timeZone={timeZone} />
          </dd>
        </div>
      )}
      {balance !== undefined && (
        <div>
          <dt>{words.balance}</dt>
          <dd>
            <TextLink href="/app/billing">
              <Money rubles={balance.balance_rub} />
            </TextLink>
          </dd>
        </div>
      )}
      <div>
        <dt>{words.paymentId}</dt>
        <dd className="flex items-center gap-2">
          <code className="font-mono text-xs break-all">{id}</code>
          <CopyButton text={id} label={words.copyPaymentId} isCompact />
        </dd>
      </div>
    </dl>
  )
}
