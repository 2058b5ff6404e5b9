import type { Versioned } from '../../api/call.ts'
import { useReadVersioned } from '../../api/queries.ts'
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
import { type Organization, useOrganizationForm } from './use-organization-form.ts'

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
  const { organization, first, isConflict, hold, save, show } = useOrganizationForm(versioned, (one) =>
    typedRubles(one.low_balance_threshold_rub ?? '', language),
  )

  return (
    <div onInput={hold}>
      <Form
        check={(values) => ({ low_balance_threshold_rub: errorOf(typedIn(values)) })}
        send={(values) => save({ low_balance_threshold_rub: findTypedRubles(typedIn(values)) ?? null })}
        onDone={(saved) => {
          const isOff = saved.versioned.body.low_balance_threshold_rub === null
          if (!saved.isConflict) announce(isOff ? words.thresholdOff : words.thresholdSaved)
          void show(saved, '/balance')
        }}
      >
        <AmountField
          key={first}
          name="low_balance_threshold_rub"
          label={words.thresholdField}
          hint={words.thresholdHint}
          defaultValue={first}
        />
        {isConflict && <Conflict threshold={organization.low_balance_threshold_rub} />}
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
