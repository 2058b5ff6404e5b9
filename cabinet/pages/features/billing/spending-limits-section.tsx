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
import { budgetProblem } from '../../money/budget.ts'
import { findTypedRubles, typedRubles } from '../../money/rubles.ts'
import { billingWords } from './messages.ts'

type Organization = Answer<'GET /organization'>

const names = ['daily_budget_rub', 'weekly_budget_rub', 'monthly_budget_rub', 'total_budget_rub'] as const
type Name = (typeof names)[number]
type Limits = Readonly<Record<Name, string>>

/** The version that an edited form is based on, whatever is read in the meantime. */
type Basis = {
  readonly versioned: Versioned<Organization>
  /** The initial values of the fields. */
  readonly first: Limits
  /** Another user has changed the organization since. */
  readonly isConflict: boolean
}

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
  const [basis, setBasis] = useState<Basis>()
  const shown = basis?.versioned ?? versioned
  const first = basis?.first ?? valuesOf(shown.body)

  function valuesOf(organization: Organization): Limits {
    return limitsOf((name) => typedRubles(organization[name] ?? '', language))
  }

  async function save(values: FormData): Promise<Basis> {
    const typed = limitsOf((name) => typedIn(values, name))
    const changed = names.filter((name) => typed[name] !== first[name])
    const body = Object.fromEntries(changed.map((name) => [name, findTypedRubles(typed[name]) ?? null]))
    try {
      const saved = await callVersioned('PATCH /organization', { body, ifMatch: shown.etag ?? '' })
      return { versioned: saved, first: valuesOf(saved.body), isConflict: false }
    } catch (error) {
      if (asProblem(error).code !== 'precondition_failed') throw error
      return { versioned: await callVersioned('GET /organization'), first, isConflict: true }
    }
  }

  async function show(saved: Basis): Promise<void> {
    setBasis(saved)
    if (!saved.isConflict) announce(words.spendingLimitsSaved)
    await readAgain('/organization', '/overview')
    if (!saved.isConflict) setBasis(undefined) // another form of this page may change the next version
  }

  return (
    <div onInput={() => setBasis(basis ?? { versioned, first, isConflict: false })}>
      <Form
        check={(values) => limitsOf((name) => errorOf(typedIn(values, name), first[name]))}
        send={save}
        onDone={(saved) => void show(saved)}
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
        {basis?.isConflict && (
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
