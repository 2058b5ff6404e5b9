import { useLanguage, useWords } from '../../i18n/language.ts'
import { SelectField, TextField } from '../../kit/fields.tsx'
import { Fold } from '../../kit/fold.tsx'
import { kitWords } from '../../kit/messages.ts'
import { formatRoubles } from '../../money/rubles.ts'
import { modelWords } from './messages.ts'
import { contexts, kinds, type ModelFilters, modalities, orders, prices } from './model-filters.ts'

type Props = {
  readonly filters: ModelFilters
  readonly providers: readonly string[]
  readonly onChange: (filters: ModelFilters) => void
}

/** The filters. Each choice is from a closed set, and its first option means everything. */
export function FilterBar({ filters, providers, onChange }: Props) {
  const words = useWords(modelWords)
  const { filters: filtersOf } = useWords(kitWords)
  return (
    <search className="grid gap-3 rounded-lg border border-line bg-surface p-4 shadow-raised">
      <TextField
        name="q"
        type="search"
        label={words.search}
        placeholder={words.searchExample}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        value={filters.text}
        onChange={(event) => onChange({ ...filters, text: event.target.value })}
      />
      <div>
        <Fold label={filtersOf(countSet(filters))}>
          <Choices filters={filters} providers={providers} onChange={onChange} />
        </Fold>
      </div>
    </search>
  )
}

function countSet({ provider, kind, modality, context, price }: ModelFilters): number {
  return [provider, kind, modality, context, price].filter((value) => value !== undefined).length
}

function Choices({ filters, providers, onChange }: Props) {
  const words = useWords(modelWords)
  const language = useLanguage()
  const count = new Intl.NumberFormat(language)
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-6">
      <Choice
        name="provider"
        label={words.provider}
        all={words.anyProvider}
        value={filters.provider}
        options={providers.map((one) => [one, one])}
        onChoose={(provider) => onChange({ ...filters, provider })}
      />
      <Choice
        name="kind"
        label={words.kind}
        all={words.anyKind}
        value={filters.kind}
        options={kinds.map((one) => [one, words.kinds[one]])}
        onChoose={(kind) => onChange({ ...filters, kind })}
      />
      <Choice
        name="modality"
        label={words.modality}
        all={words.anyModality}
        value={filters.modality}
        options={modalities.map((one) => [one, words.modalities[one]])}
        onChoose={(modality) => onChange({ ...filters, modality })}
      />
      <Choice
        name="context"
        label={words.context}
        all={words.anyContext}
        value={filters.context}
        options={contexts.map((one) => [one, words.contextFrom(count.format(one))])}
        onChoose={(context) => onChange({ ...filters, context })}
      />
      <Choice
        name="price"
        label={words.price}
        all={words.anyPrice}
        value={filters.price}
        options={prices.map((one) => [
          one,
          one === '0' ? words.free : words.upTo(formatRoubles(one, language)),
        ])}
        onChoose={(price) => onChange({ ...filters, price })}
      />
      <SelectField
        name="order"
        label={words.order}
        value={filters.order}
        onChange={(event) =>
          onChange({ ...filters, order: orders.find((one) => one === event.target.value) ?? 'name' })
        }
      >
        {orders.map((one) => (
          <option key={one} value={one}>
            {words.orders[one]}
          </option>
        ))}
      </SelectField>
    </div>
  )
}

function Choice<Value extends string | number>({
  name,
  label,
  all,
  value,
  options,
  onChoose,
}: {
  readonly name: string
  readonly label: string
  readonly all: string
  readonly value: Value | undefined
  readonly options: readonly (readonly [Value, string])[]
  readonly onChoose: (value: Value | undefined) => void
}) {
  // An address may name a value that the catalog lacks: it must be visible so that the user can clear it.
  const known = value === undefined || options.some(([one]) => one === value)
  return (
    <SelectField
      name={name}
      label={label}
      value={value ?? ''}
      onChange={(event) => onChoose(options.find(([one]) => String(one) === event.target.value)?.[0])}
    >
      <option value="">{all}</option>
      {!known && <option value={value}>{value}</option>}
      {options.map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </SelectField>
  )
}
