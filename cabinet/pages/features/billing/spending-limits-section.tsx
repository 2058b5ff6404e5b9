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
import { budgetProblem } from '../../money/budget.ts'
import { findTypedRubles, typedRubles } from '../../money/rubles.ts'
import { billingWords } from './messages.ts'
import { type Organization, useOrganizationForm } from './use-organization-form.ts'

const names = ['daily_budget_rub', 'weekly_budget_rub', 'monthly_budget_rub', 'total_budget_rub'] as const
type Name = (typeof names)[number]

/** What all keys of the organization may spend, by period. */
export function SpendingLimitsSection() {
  const words = useWords(billingWords)
  const organization = useReadVersioned('/organization')
  const mayChange = useMay('organization.write')
  return (
    <Section title={words.spendingLimits} lead={words.spendingLimitsLead}>
      <Loaded query={organization} skeleton={<Skeleton heightRem={mayChange ? 16 : 4} />}>
        {(versioned) =>
          mayChange ? <LimitsForm versioned={versioned} /> : <PresentLimits organization={versioned.body} />
        }
      </Loaded>
    </Section>
  )
}

/** For users without permission to change them. */
function PresentLimits({ organization }: { readonly organization: Organization }) {
  const words = useWords(billingWords)
  return (
    <dl className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
      {names.map((name) => {
        const limit = organization[name] ?? null // absent: a server of the release before
        return (
          <div key={name} className="min-w-0">
            <dt className="text-sm text-muted">{words.spendingLimit[name]}</dt>
            <dd>{limit === null ? words.spendingLimitNone : <Money rubles={limit} />}</dd>
          </div>
        )
      })}
    </dl>
  )
}

function LimitsForm({ versioned }: { readonly versioned: Versioned<Organization> }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const { first, isConflict, hold, save, show } = useOrganizationForm(versioned, (organization) =>
    limitsOf((name) => typedRubles(organization[name] ?? '', language)),
  )

  function changesIn(values: FormData): { readonly [Changed in Name]?: string | null } {
    const typed = limitsOf((name) => typedIn(values, name))
    const changed = names.filter((name) => typed[name] !== first[name])
    return Object.fromEntries(changed.map((name) => [name, findTypedRubles(typed[name]) ?? null]))
  }

  return (
    <div onInput={hold}>
      <Form
        check={(values) => limitsOf((name) => errorOf(typedIn(values, name), first[name]))}
        send={(values) => save(changesIn(values))}
        onDone={(saved) => {
          if (!saved.isConflict) announce(words.spendingLimitsSaved)
          void show(saved, '/overview')
        }}
      >
        <div className="grid items-start gap-5 sm:grid-cols-2">
          {names.map((name) => (
            <AmountField
              key={`${name} ${first[name]}`}
              name={name}
              label={words.spendingLimit[name]}
              hint={words.spendingLimitHints[name]}
              defaultValue={first[name]}
            />
          ))}
        </div>
        {isConflict && (
          <Notice tone="warning">
            <p role="alert">{words.spendingLimitsConflict}</p>
          </Notice>
        )}
        <div>
          <SubmitButton variant="secondary">{words.setSpendingLimits}</SubmitButton>
        </div>
      </Form>
    </div>
  )

  function errorOf(typed: string, before: string): string | undefined {
    if (typed === before) return undefined // the API may have set a finer value
    switch (budgetProblem(typed)) {
      case 'decimals':
        return words.amountDecimals
      case 'wrong':
        return words.amountWrong
      case 'zero':
        return words.spendingLimitZero
      case 'large':
        return words.spendingLimitLarge
      case undefined:
        return undefined
    }
  }
}

function limitsOf<Value>(read: (name: Name) => Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<Name, Value>
}

const typedIn = (values: FormData, name: Name) => String(values.get(name)).trim()
