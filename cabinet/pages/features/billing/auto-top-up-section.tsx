import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { useIsConfirmed, useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge, Notice, type Tone } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { AmountField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import {
  compareRubles,
  findTypedRubles,
  formatRoubles,
  isFinerThanKopecks,
  typedRubles,
} from '../../money/rubles.ts'
import { autoTopUpWords } from './auto-top-up-messages.ts'
import { billingWords } from './messages.ts'
import { useReason } from './payment-words.ts'
import { topUpError } from './top-up-amount.ts'

type AutoTopUp = Answer<'GET /auto-top-up'>
type Bounds = NonNullable<Answer<'GET /config'>['top_up']>

/** The saved card, when it is charged, and one click that ends it. Absent where no card can be saved. */
export function AutoTopUpSection() {
  const words = useWords(autoTopUpWords)
  const autoTopUp = useRead('/auto-top-up')
  const config = useRead('/config')
  const isUnused = autoTopUp.data?.is_available === false && autoTopUp.data.card === null
  if (isUnused || config.data?.top_up === null) return null
  return (
    <Section title={words.title} lead={words.lead}>
      <Loaded query={config} skeleton={<Skeleton heightRem={12} />}>
        {({ top_up }) => (
          <Loaded query={autoTopUp} skeleton={<Skeleton heightRem={12} />}>
            {(known) =>
              known.card === null || top_up === null ? (
                <p className="text-muted">{words.noCard}</p>
              ) : (
                <SavedCard known={known} card={known.card} bounds={top_up} />
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Section>
  )
}

const tones: Readonly<Record<AutoTopUp['state'], Tone>> = {
  no_card: 'neutral',
  off: 'neutral',
  on: 'success',
  stopped: 'danger',
}

function SavedCard({
  known,
  card,
  bounds,
}: {
  readonly known: AutoTopUp
  readonly card: NonNullable<AutoTopUp['card']>
  readonly bounds: Bounds
}) {
  const words = useWords(autoTopUpWords)
  const language = useLanguage()
  const reasonOf = useReason()
  const mayPay = useMay('billing.write')
  const isConfirmed = useIsConfirmed()
  const { state, settings, stop, charged_today_rub, is_available } = known
  const [year, month] = card.expires.split('-')
  return (
    <div className="grid gap-5">
      <dl className="grid gap-3 sm:grid-cols-2">
        <div>
          <dt className="text-sm text-muted">{words.card}</dt>
          <dd className="flex flex-wrap items-center gap-2">
            <bdi>{words.cardOf(card.brand, card.last4)}</bdi>
            <span className="text-muted">{words.expires(`${month}/${year}`)}</span>
            <Badge tone={tones[state]}>{words.states[state]}</Badge>
          </dd>
        </div>
        {settings !== null && (
          <div>
            <dt className="text-sm text-muted">{words.today}</dt>
            <dd>
              {words.ofMax(
                formatRoubles(charged_today_rub, language),
                formatRoubles(settings.daily_max_rub, language),
              )}
            </dd>
          </div>
        )}
      </dl>
      {stop !== null && <Notice tone="danger">{words.stopped(reasonOf(stop.reason))}</Notice>}
      {mayPay && isConfirmed && is_available && (
        <SettingsForm key={JSON.stringify(settings)} known={known} bounds={bounds} />
      )}
      {mayPay && <EndButton />}
    </div>
  )
}

const names = ['threshold_rub', 'amount_rub', 'daily_max_rub'] as const
const suggested = { threshold_rub: '500', amount_rub: '1000', daily_max_rub: '3000' }

function SettingsForm({ known, bounds }: { readonly known: AutoTopUp; readonly bounds: Bounds }) {
  const words = useWords(autoTopUpWords)
  const billing = useWords(billingWords)
  const language = useLanguage()
  const first = known.settings ?? suggested
  const labels = { threshold_rub: words.threshold, amount_rub: words.amount, daily_max_rub: words.dailyMax }
  return (
    <Form
      check={(values) => ({
        threshold_rub: thresholdError(typedIn(values, 'threshold_rub')),
        amount_rub: topUpError(typedIn(values, 'amount_rub'), bounds, billing, language),
        daily_max_rub: dailyMaxError(typedIn(values, 'daily_max_rub'), typedIn(values, 'amount_rub')),
      })}
      send={(values) => call('PATCH /auto-top-up', { body: bodyOf(values) })}
      onDone={() => {
        announce(words.saved)
        void readAgain('/auto-top-up')
      }}
    >
      <div className="grid items-start gap-5 sm:grid-cols-3">
        {names.map((name) => (
          <AmountField
            key={name}
            name={name}
            label={labels[name]}
            {...(name === 'daily_max_rub' && { hint: words.dailyMaxHint })}
            defaultValue={typedRubles(first[name], language)}
          />
        ))}
      </div>
      <div>
        <SubmitButton variant="secondary">
          {known.state === 'on' ? words.save : known.state === 'stopped' ? words.turnOnAgain : words.turnOn}
        </SubmitButton>
      </div>
    </Form>
  )

  function amountError(typed: string): string | undefined {
    if (typed === '') return billing.amountMissing
    if (isFinerThanKopecks(typed)) return billing.amountDecimals
    return findTypedRubles(typed) === undefined ? billing.amountWrong : undefined
  }

  function thresholdError(typed: string): string | undefined {
    const error = amountError(typed)
    if (error !== undefined) return error
    const isLarge = compareRubles(findTypedRubles(typed) ?? '', largest) > 0
    return isLarge ? billing.amountLarge(formatRoubles(largest, language)) : undefined
  }

  function dailyMaxError(typed: string, amount: string): string | undefined {
    const error = thresholdError(typed)
    const least = findTypedRubles(amount)
    if (error !== undefined || least === undefined) return error
    return compareRubles(findTypedRubles(typed) ?? '', least) < 0 ? words.dailyMaxSmall : undefined
  }
}

/** The largest amount that the server accepts is a little less than 10,000,000 ₽. */
const largest = '9999999'

const typedIn = (values: FormData, name: (typeof names)[number]) => String(values.get(name)).trim()

function bodyOf(values: FormData) {
  const rublesOf = (name: (typeof names)[number]) => findTypedRubles(typedIn(values, name)) ?? ''
  return {
    threshold_rub: rublesOf('threshold_rub'),
    amount_rub: rublesOf('amount_rub'),
    daily_max_rub: rublesOf('daily_max_rub'),
  }
}

/** Without a question: one click ends it. */
function EndButton() {
  const words = useWords(autoTopUpWords)
  const end = useChange(async () => {
    await call('DELETE /auto-top-up')
    announce(words.ended)
    await readAgain('/auto-top-up')
  })
  return (
    <div className="grid gap-3 border-t border-line pt-4">
      <div>
        <Button isPending={end.isPending} onClick={end.start}>
          {words.end}
        </Button>
      </div>
      {end.problem !== undefined && <ProblemNote problem={end.problem} fallback={words.notEnded} />}
    </div>
  )
}
