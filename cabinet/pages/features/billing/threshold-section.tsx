import { useState } from 'react'
import { callVersioned, type Versioned } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { asProblem } from '../../api/problem.ts'
import { readAgain, useReadVersioned } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { AmountField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
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
import { billingWords } from './messages.ts'

type Organization = Answer<'GET /organization'>

/** The version that an edited form is based on, whatever is read in the meantime. */
type Basis = {
  readonly versioned: Versioned<Organization>
  /** The initial value of the field. */
  readonly first: string
  /** Another user has changed the organization since. */
  readonly isConflict: boolean
}

type Saved = { readonly versioned: Versioned<Organization>; readonly isConflict: boolean }

const thresholdMax = '1000000000'

/** The balance below which to send an email. */
export function ThresholdSection() {
  const words = useWords(billingWords)
  const organization = useReadVersioned('/organization')
  const mayChange = useMay('organization.write')
  return (
    <Section title={words.threshold} lead={words.thresholdLead}>
      <Loaded query={organization} skeleton={<Skeleton heightRem={9} />}>
        {(versioned) =>
          mayChange ? (
            <ThresholdForm versioned={versioned} />
          ) : (
            <PresentThreshold threshold={versioned.body.low_balance_threshold_rub} />
          )
        }
      </Loaded>
    </Section>
  )
}

/** For users without permission to change it. */
function PresentThreshold({ threshold }: { readonly threshold: string | null }) {
  const words = useWords(billingWords)
  return (
    <p>
      {words.thresholdField}: {threshold === null ? words.thresholdNone : <Money rubles={threshold} />}
    </p>
  )
}

function ThresholdForm({ versioned }: { readonly versioned: Versioned<Organization> }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const [basis, setBasis] = useState<Basis>()
  const shown = basis?.versioned ?? versioned
  const first = basis?.first ?? typedRubles(shown.body.low_balance_threshold_rub ?? '', language)

  async function save(values: FormData): Promise<Saved> {
    const low_balance_threshold_rub = findTypedRubles(typedIn(values)) ?? null
    const change = { body: { low_balance_threshold_rub }, ifMatch: shown.etag ?? '' }
    try {
      return { versioned: await callVersioned('PATCH /organization', change), isConflict: false }
    } catch (error) {
      if (asProblem(error).code !== 'precondition_failed') throw error
      return { versioned: await callVersioned('GET /organization'), isConflict: true }
    }
  }

  async function show(saved: Saved): Promise<void> {
    setBasis({ ...saved, first })
    const isOff = saved.versioned.body.low_balance_threshold_rub === null
    if (!saved.isConflict) announce(isOff ? words.thresholdOff : words.thresholdSaved)
    await readAgain('/organization', '/balance')
    if (!saved.isConflict) setBasis(undefined) // another form of this page may change the next version
  }

  return (
    <div onInput={() => setBasis(basis ?? { versioned, first, isConflict: false })}>
      <Form
        check={(values) => ({ low_balance_threshold_rub: errorOf(typedIn(values)) })}
        send={save}
        onDone={(saved) => void show(saved)}
      >
        <AmountField
          key={first}
          name="low_balance_threshold_rub"
          label={words.thresholdField}
          hint={words.thresholdHint}
          defaultValue={first}
        />
        {basis?.isConflict && <Conflict threshold={shown.body.low_balance_threshold_rub} />}
        <div>
          <SubmitButton variant="secondary">{words.save}</SubmitButton>
        </div>
      </Form>
    </div>
  )

  function errorOf(typed: string): string | undefined {
    if (typed === '' || typed === first) return undefined // the API may have set a finer value
    if (isFinerThanKopecks(typed)) return words.amountDecimals
    const threshold = findTypedRubles(typed)
    if (threshold === undefined) return words.amountWrong
    return compareRubles(threshold, thresholdMax) > 0 ? words.thresholdLarge : undefined
  }
}

const typedIn = (values: FormData) => String(values.get('low_balance_threshold_rub')).trim()

function Conflict({ threshold }: { readonly threshold: string | null }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  return (
    <Notice tone="warning">
      <p role="alert">
        {words.thresholdConflict(
          threshold === null ? words.thresholdNone : formatRoubles(threshold, language, 'exact'),
        )}
      </p>
    </Notice>
  )
}
