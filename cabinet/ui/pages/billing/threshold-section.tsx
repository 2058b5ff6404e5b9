import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useReadVersioned } from '../../api/queries.ts'
import { AmountField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import { compareRoubles, findTypedRoubles, typedRoubles } from '../../money/roubles.ts'
import { billingWords } from '../../words/billing.ts'
import { useLanguage, useWords } from '../../words/language.ts'

type Organization = Answer<'GET /organization'>

const thresholdMax = '1000000000'

/** When to write that the balance is low. */
export function ThresholdSection() {
  const words = useWords(billingWords)
  const organization = useReadVersioned('/organization')
  return (
    <Section title={words.threshold} lead={words.thresholdLead}>
      <Loaded query={organization} skeleton={<Skeleton heightRem={9} />}>
        {({ body, etag = '' }) => <ThresholdForm organization={body} etag={etag} />}
      </Loaded>
    </Section>
  )
}

function ThresholdForm({
  organization,
  etag,
}: {
  readonly organization: Organization
  readonly etag: string
}) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const present = organization.low_balance_threshold_rub ?? ''
  return (
    <Form
      check={(values) => ({ low_balance_threshold_rub: errorOf(typedIn(values)) })}
      send={(values) =>
        call('PATCH /organization', {
          body: { low_balance_threshold_rub: findTypedRoubles(typedIn(values)) ?? null },
          ifMatch: etag,
        })
      }
      errorsOf={(problem) => {
        if (problem.code === 'precondition_failed') void readAgain('/organization')
        return undefined
      }}
      onDone={({ low_balance_threshold_rub }) => {
        void readAgain('/organization', '/balance')
        announce(low_balance_threshold_rub === null ? words.thresholdOff : words.thresholdSaved)
      }}
    >
      <AmountField
        name="low_balance_threshold_rub"
        label={words.thresholdField}
        hint={words.thresholdHint}
        defaultValue={typedRoubles(present, language)}
      />
      <div>
        <SubmitButton variant="secondary">{words.save}</SubmitButton>
      </div>
    </Form>
  )

  function errorOf(typed: string): string | undefined {
    if (typed === '') return undefined
    const threshold = findTypedRoubles(typed)
    if (threshold === undefined) return words.amountWrong
    return compareRoubles(threshold, thresholdMax) > 0 ? words.thresholdLarge : undefined
  }
}

const typedIn = (values: FormData) => String(values.get('low_balance_threshold_rub')).trim()
