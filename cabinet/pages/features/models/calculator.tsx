import { useState } from 'react'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { rublesOf } from '../../money/rubles.ts'
import { modelWords } from './messages.ts'
import { costNanoOf, type Model, type TokenClass, tokenClasses } from './model.ts'
import { findTypedCount } from './typed-count.ts'

/** More than any present context; the server accepts no more either. */
const tokensMax = 1_000_000_000n

const examples: Readonly<Record<TokenClass | 'requests', string>> = {
  input: '1000',
  cached_input: '0',
  cache_write: '0',
  output: '500',
  reasoning: '0',
  requests: '1000',
}

/** What requests of a given size would cost, to the last digit. */
export function Calculator({ model }: { readonly model: Model }) {
  const words = useWords(modelWords)
  const [typed, setTyped] = useState(examples)
  const classes = tokenClasses.filter((each) => isAsked(model, each))
  const count = (each: keyof typeof examples) => findTypedCount(typed[each], tokensMax)
  const tokens = Object.fromEntries(
    tokenClasses.map((each) => [each, classes.includes(each) ? count(each) : 0n]),
  )
  const isWhole = Object.values(tokens).every((each) => each !== undefined)
  const costNano = isWhole
    ? costNanoOf(tokens as Readonly<Record<TokenClass, bigint>>, model.pricing)
    : undefined
  const requests = count('requests')

  return (
    <Section title={words.calculator} lead={words.calculatorLead}>
      <div className="grid gap-4 sm:grid-cols-2">
        {[...classes, 'requests' as const].map((each) => (
          <CountField
            key={each}
            name={each}
            label={words.countNames[each]}
            value={typed[each]}
            isWrong={count(each) === undefined}
            onChange={(value) => setTyped({ ...typed, [each]: value })}
          />
        ))}
      </div>
      <dl aria-live="polite" className="mt-5 grid gap-2 rounded-md bg-sunken p-4">
        <Sum name={words.costOfOne} nano={costNano} />
        <Sum
          name={words.costOfAll}
          nano={costNano === undefined || requests === undefined ? undefined : costNano * requests}
        />
      </dl>
    </Section>
  )
}

/** Only classes with their own price have a field; the others cost the same as their family. */
function isAsked({ type, pricing }: Model, each: TokenClass): boolean {
  if (each === 'input') return true
  if (each === 'output') return type === 'chat'
  return pricing[each] !== null
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
