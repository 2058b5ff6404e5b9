import { type ReactNode, useState } from 'react'
import { call } from '../../api/call.ts'
import { useRead } from '../../api/queries.ts'
import { useMay, useMe } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { classNames } from '../../kit/class-names.ts'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Section } from '../../kit/section.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { FirstRequestCode } from '../keys/first-request-code.tsx'
import { isAwaited } from '../spending/spending.ts'
import { overviewWords } from './messages.ts'

export type Step = {
  readonly id: string
  readonly name: string
  readonly isDone: boolean
  /** How to do it; shown for the next step. */
  readonly content: ReactNode
}

/** A request to a free model has no ledger entry, so there is no hint for it. */
const firstRequestMs = 3_000
const placeholder = 'sk-gateway-…'

/** The steps to a first response; hidden for users who have completed all of them. */
export function Checklist({ steps }: { readonly steps: readonly Step[] }) {
  const words = useWords(overviewWords)
  const [wasOpen, setWasOpen] = useState(false)
  const done = steps.filter(({ isDone }) => isDone).length
  const isOpen = done < steps.length
  if (isOpen && !wasOpen) setWasOpen(true)
  if (!isOpen && !wasOpen) return null
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <Section title={words.startTitle} lead={words.startLead(done, steps.length)}>
      <ol className="grid gap-1" aria-live="polite">
        {steps.map((step) => (
          <StepItem key={step.id} step={step} isNext={step === next} />
        ))}
      </ol>
    </Section>
  )
}

function StepItem({ step, isNext }: { readonly step: Step; readonly isNext: boolean }) {
  const words = useWords(overviewWords)
  return (
    <li className="flex gap-3 py-1.5" data-step={step.id} data-done={step.isDone}>
      <span
        className={classNames(
          'inline-flex size-6 shrink-0 items-center justify-center rounded-full border',
          step.isDone && 'border-transparent bg-success-soft text-success',
          !step.isDone && (isNext ? 'border-accent' : 'border-edge'),
        )}
      >
        {step.isDone && <Icon name="check" size={16} />}
        <span className="sr-only">{step.isDone ? words.done : words.notDone}</span>
      </span>
      <div className="grid min-w-0 flex-1 gap-3">
        <p className={step.isDone ? 'text-muted' : isNext ? 'font-medium' : undefined}>{step.name}</p>
        {isNext && step.content}
      </div>
    </li>
  )
}

/** `undefined` until the user's progress is known; empty if it cannot be known. */
export function useSteps(): readonly Step[] | undefined {
  const words = useWords(overviewWords)
  const [isPolled, setPolled] = useState(true)
  const me = useMe()
  const overview = useRead('/overview', {}, { refetchInterval: isPolled && firstRequestMs })
  const mayMakeKeys = useMay('keys.write')
  const mayPay = useMay('billing.write')
  const topUps = useRead('/ledger', { query: { kind: 'top_up', limit: 1 } }, { enabled: mayPay })
  const needed = mayPay ? [me, overview, topUps] : [me, overview]
  if (needed.some(isAwaited)) return undefined
  if (me.data === undefined || overview.data === undefined) return []
  if (mayPay && topUps.data === undefined) return []
  const { has_key, first_request_at } = overview.data
  if (isPolled && first_request_at !== null) setPolled(false)
  const ofKeys = [
    { id: 'key', name: words.keyStep, isDone: has_key, content: <KeyStep /> },
    {
      id: 'request',
      name: words.requestStep,
      isDone: first_request_at !== null,
      content: <RequestStep />,
    },
  ]
  const hasPaid = topUps.data !== undefined && topUps.data.data.length > 0
  const topUp = { id: 'top-up', name: words.topUpStep, isDone: hasPaid, content: <TopUpStep /> }
  return [
    {
      id: 'confirm',
      name: words.confirmStep,
      isDone: me.data.is_confirmed,
      content: <ConfirmStep email={me.data.email} />,
    },
    ...(mayMakeKeys ? ofKeys : []),
    ...(mayPay ? [topUp] : []),
  ]
}

function ConfirmStep({ email }: { readonly email: string }) {
  const words = useWords(overviewWords)
  return (
    <>
      <p className="text-muted wrap-anywhere">{words.confirmText(email)}</p>
      <Form
        send={() => call('POST /auth/resend-verification', { body: { email } })}
        onDone={() => announce(words.sentAgain)}
      >
        <div>
          <SubmitButton variant="secondary">{words.sendAgain}</SubmitButton>
        </div>
      </Form>
    </>
  )
}

function KeyStep() {
  const words = useWords(overviewWords)
  return (
    <>
      <p className="max-w-prose text-muted">{words.keyText}</p>
      <div>
        <ButtonLink href="/app/keys?new" icon="plus">
          {words.newKey}
        </ButtonLink>
      </div>
    </>
  )
}

function RequestStep() {
  const words = useWords(overviewWords)
  return (
    <>
      <p className="max-w-prose text-muted">
        <LinkedText text={words.requestText} href="/app/playground" />
      </p>
      <FirstRequestCode secret={placeholder} allowed={null} />
    </>
  )
}

function TopUpStep() {
  const words = useWords(overviewWords)
  return (
    <>
      <p className="max-w-prose text-muted">{words.topUpText}</p>
      <div>
        <ButtonLink href="/app/billing">{words.topUp}</ButtonLink>
      </div>
    </>
  )
}
