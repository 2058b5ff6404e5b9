import { type ReactNode, useEffect, useRef, useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { ApiProblem } from '../../api/problem.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { Button } from '../../kit/button.tsx'
import { nameOfVersion } from '../../kit/days.ts'
import { AmountField, CheckboxField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { compareRoubles, findTypedRoubles, formatRoubles } from '../../money/roubles.ts'
import type { Language } from '../../preferences.ts'
import { billingWords } from '../../words/billing.ts'
import { useLanguage, useWords } from '../../words/language.ts'
import { topUpError } from './top-up-amount.ts'

type Config = Answer<'GET /config'>
type Payment = Answer<'POST /payments'>

const chips = ['500', '1000', '5000']
/** For the provider's page to take this one's place. */
const leavingMsMax = 10_000

/** Leads to the provider's page; `onUnready`: that is not known yet. */
export function TopUpForm({
  bounds,
  documents,
  onUnready,
}: {
  readonly bounds: NonNullable<Config['top_up']>
  readonly documents: Config['documents']
  readonly onUnready: (payment: Payment) => void
}) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const [typed, setTyped] = useState('1000')
  const [isOfferOutdated, setOfferOutdated] = useState(false)
  const offer = documents.find(({ kind }) => kind === 'offer')

  async function send(values: FormData, idempotencyKey: string): Promise<Payment> {
    if (isOfferOutdated && offer !== undefined)
      await call('POST /me/consents', { body: { kind: 'offer', version: offer.version } })
    const amount_rub = findTypedRoubles(String(values.get('amount_rub'))) ?? ''
    const payment = await call('POST /payments', { body: { amount_rub }, idempotencyKey })
    if (payment.confirmation_url !== null) await leaveFor(payment.confirmation_url, words)
    return payment
  }

  return (
    <Form
      check={(values) => ({
        amount_rub: topUpError(String(values.get('amount_rub')), bounds, words, language),
        accept_offer: isOfferOutdated && !values.has('accept_offer') ? words.offerMissing : undefined,
      })}
      send={send}
      errorsOf={(problem) => {
        const isOutdated = problem.code === 'consent_outdated' || problem.code === 'conflict'
        if (!isOutdated) return undefined
        setOfferOutdated(true)
        void readAgain('/config')
        return {}
      }}
      onDone={(payment) => {
        void readAgain('/payments')
        if (payment.confirmation_url === null) onUnready(payment)
      }}
    >
      <AmountField
        name="amount_rub"
        label={words.amount}
        hint={words.amountHint(
          formatRoubles(bounds.min_rub, language),
          formatRoubles(bounds.max_rub, language),
        )}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
      <Chips onChoose={setTyped} />
      <WhatArrives typed={typed} bounds={bounds} />
      {isOfferOutdated && offer !== undefined && <NewOffer version={offer.version} />}
      <div className="grid justify-items-start gap-2">
        <SubmitButton>{words.pay}</SubmitButton>
        <p className="text-sm text-muted">{words.payNote}</p>
      </div>
    </Form>
  )
}

function Chips({ onChoose }: { readonly onChoose: (amount: string) => void }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  return (
    <fieldset className="flex flex-wrap gap-2">
      <legend className="sr-only">{words.chips}</legend>
      {chips.map((amount) => (
        <Button key={amount} size="small" onClick={() => onChoose(amount)}>
          {inWholeRoubles(amount, language)}
        </Button>
      ))}
    </fieldset>
  )
}

/** Without kopecks where there are none. */
function inWholeRoubles(amount: string, language: Language): string {
  return formatRoubles(amount, language).replace(/[.,]00(?=\D*$)/, '')
}

/** What comes onto the balance for what is typed, with the bonus while it is still to be had. */
function WhatArrives({
  typed,
  bounds,
}: {
  readonly typed: string
  readonly bounds: NonNullable<Config['top_up']>
}) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const bonuses = useRead('/bonuses')
  const hasWelcome = bonuses.data?.data.every(({ kind }) => kind !== 'welcome') ?? false
  const amount =
    topUpError(typed, bounds, words, language) === undefined ? findTypedRoubles(typed) : undefined
  const { from_rub, bonus_rub } = bounds.welcome
  const isEarned = hasWelcome && amount !== undefined && compareRoubles(amount, from_rub) >= 0
  return (
    <div className="grid gap-1 text-sm" aria-live="polite">
      <Line>{amount !== undefined && told(amount)}</Line>
      {hasWelcome && !isEarned && (
        <p className="text-accent">
          {words.welcomeOffer(inWholeRoubles(from_rub, language), inWholeRoubles(bonus_rub, language))}
        </p>
      )}
    </div>
  )

  function told(sum: string): string {
    const shown = formatRoubles(sum, language)
    if (!isEarned) return words.willGet(shown)
    return words.willGetWithBonus(shown, formatRoubles(bonus_rub, language))
  }
}

/** Keeps its height while it says nothing. */
function Line({ children }: { readonly children: ReactNode }) {
  return <p className="min-h-5 font-medium">{children}</p>
}

/** Unticked, with its text behind a link; whoever is sent back here begins at it. */
function NewOffer({ version }: { readonly version: string }) {
  const words = useWords(billingWords)
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => place.current?.querySelector('input')?.focus(), [])
  return (
    <div ref={place}>
      <CheckboxField name="accept_offer">
        <LinkedText
          text={words.acceptOffer(nameOfVersion(version, useLanguage()))}
          href={`/legal/offer/${version}`}
          isNewTab
        />
      </CheckboxField>
    </div>
  )
}

/**
 * Ends when somebody comes back to this very page: until then the form is at work, and is not sent again. Who has not left
 * after a while, for they called it off or the provider is silent, is told so: the next press leads to the same payment.
 */
function leaveFor(url: string, words: (typeof billingWords)['ru']): Promise<void> {
  return new Promise((resolve, reject) => {
    const listening = new AbortController()
    const { signal } = listening
    const timer = setTimeout(() => {
      listening.abort()
      reject(
        new ApiProblem({ code: 'unreadable', title: words.tillNotOpened, detail: words.tillNotOpenedDetail }),
      )
    }, leavingMsMax)
    addEventListener('pagehide', () => clearTimeout(timer), { signal })
    const comeBack = () => {
      clearTimeout(timer)
      listening.abort()
      resolve()
    }
    addEventListener('pageshow', comeBack, { signal })
    location.assign(url)
  })
}
