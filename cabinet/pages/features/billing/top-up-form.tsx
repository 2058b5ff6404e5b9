import { type ReactNode, useEffect, useRef, useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { ApiProblem } from '../../api/problem.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { AmountField, CheckboxField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { compareRubles, findTypedRubles, formatRoubles } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import { nameOfVersion } from '../../time/days.ts'
import { autoTopUpWords } from './auto-top-up-messages.ts'
import { billingWords } from './messages.ts'
import { topUpError } from './top-up-amount.ts'

type Config = Answer<'GET /config'>
type Payment = Answer<'POST /payments'>

const chips = ['500', '1000', '5000']
/** How long the browser may take to open the provider's page. */
const leavingMsMax = 10_000

/** Navigates to the provider's page; `onUnready` is called if its address is not known yet. */
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
  const { data: autoTopUp } = useRead('/auto-top-up')

  async function send(values: FormData, idempotencyKey: string): Promise<Payment> {
    if (isOfferOutdated && offer !== undefined)
      await call('POST /me/consents', { body: { kind: 'offer', version: offer.version } })
    const amount_rub = findTypedRubles(String(values.get('amount_rub'))) ?? ''
    const consent = values.has('save_card') && { saved_card_consent: autoTopUp?.consent_version ?? '' }
    const body = { amount_rub, ...consent }
    const payment = await call('POST /payments', { body, idempotencyKey })
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
        void readAgain('/config', '/auto-top-up')
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
      {autoTopUp?.is_available === true && <SaveCard version={autoTopUp.consent_version} />}
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
          {inWholeRubles(amount, language)}
        </Button>
      ))}
    </fieldset>
  )
}

/** Without kopecks if there are none. */
function inWholeRubles(amount: string, language: Language): string {
  return formatRoubles(amount, language).replace(/[.,]00(?=\D*$)/, '')
}

/** The amount that will be added to the balance, with the bonus while it is available. */
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
  const amount = topUpError(typed, bounds, words, language) === undefined ? findTypedRubles(typed) : undefined
  const { from_rub, bonus_rub } = bounds.welcome
  const isEarned = hasWelcome && amount !== undefined && compareRubles(amount, from_rub) >= 0
  return (
    <div className="grid gap-1 text-sm" aria-live="polite">
      <Line>{amount !== undefined && arrival(amount)}</Line>
      {hasWelcome && !isEarned && (
        <p className="text-accent">
          {words.welcomeOffer(inWholeRubles(from_rub, language), inWholeRubles(bonus_rub, language))}
        </p>
      )}
    </div>
  )

  function arrival(sum: string): string {
    const shown = formatRoubles(sum, language)
    if (!isEarned) return words.willGet(shown)
    return words.willGetWithBonus(shown, formatRoubles(bonus_rub, language))
  }
}

/** Keeps its height while it is empty. */
function Line({ children }: { readonly children: ReactNode }) {
  return <p className="min-h-5 font-medium">{children}</p>
}

/** Never preselected: saving a card needs a separate consent. */
function SaveCard({ version }: { readonly version: string }) {
  const words = useWords(autoTopUpWords)
  return (
    <CheckboxField name="save_card" hint={words.rememberHint}>
      <LinkedText text={words.remember} href={`/legal/saved_card/${version}`} isNewTab />
    </CheckboxField>
  )
}

/** Never preselected, with a link to the document; receives focus when it appears. */
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
 * Ends when the user comes back to this page: until then the form is pending and cannot be sent again. If the user is
 * still here after a while (the navigation was canceled, or the provider is silent), a message appears: the next click
 * leads to the same payment.
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
