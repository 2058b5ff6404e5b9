import { useState } from 'react'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { rublesOf } from '../../money/rubles.ts'
import { calculate, exampleCounts } from './calculation.ts'
import { modelWords } from './messages.ts'
import type { Model } from './model.ts'

/** What requests of a given size would cost, to the last digit. */
export function Calculator({ model }: { readonly model: Model }) {
  const words = useWords(modelWords)
  const [typed, setTyped] = useState(exampleCounts)
  const { asked, wrong, costOfOneNano, costOfAllNano } = calculate(model, (name) => typed[name])
  return (
    <Section title={words.calculator} lead={words.calculatorLead}>
      <div className="grid gap-4 sm:grid-cols-2">
        {asked.map((each) => (
          <CountField
            key={each}
            name={each}
            label={words.countNames[each]}
            value={typed[each]}
            isWrong={wrong.has(each)}
            onChange={(value) => setTyped({ ...typed, [each]: value })}
          />
        ))}
      </div>
      <dl aria-live="polite" className="mt-5 grid gap-2 rounded-md bg-sunken p-4">
        <Sum name={words.costOfOne} nano={costOfOneNano} />
        <Sum name={words.costOfAll} nano={costOfAllNano} />
      </dl>
    </Section>
  )
}

function CountField({
  name,
  label,
  value,
  isWrong,
  onChange,
}: {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly isWrong: boolean
  readonly onChange: (value: string) => void
}) {
  const words = useWords(modelWords)
  return (
    <TextField
      name={name}
      label={label}
      value={value}
      error={isWrong ? words.countWrong : undefined}
      inputMode="numeric"
      autoComplete="off"
      maxLength={40}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

function Sum({ name, nano }: { readonly name: string; readonly nano: bigint | undefined }) {
  return (
    <div className="flex flex-wrap items-baseline justify-between gap-x-4">
      <dt className="text-muted">{name}</dt>
      <dd className="text-lg font-semibold break-all">
        {nano === undefined ? '—' : <Money rubles={rublesOf(nano)} isExact />}
      </dd>
    </div>
  )
}
