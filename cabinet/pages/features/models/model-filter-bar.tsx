import { useLanguage, useWords } from '../../i18n/language.ts'
import { CheckboxField, SelectField, TextField } from '../../kit/fields.tsx'
import { Fold } from '../../kit/fold.tsx'
import { kitWords } from '../../kit/messages.ts'
import { formatRoubles } from '../../money/rubles.ts'
import { formatsOf } from './formats.ts'
import { modelWords } from './messages.ts'
import { nameOfCountry } from './model-facts.ts'
import {
  capabilities,
  contexts,
  countSet,
  kinds,
  type ModelFilters,
  modalities,
  orders,
  outputs,
  prices,
  searchLengthMax,
} from './model-filters.ts'

type Props = {
  readonly filters: ModelFilters
  readonly providers: readonly string[]
  /** Those that the catalog names; none: there is no filter by country. */
  readonly countries: readonly string[]
  readonly onChange: (filters: ModelFilters) => void
}

/** The filters. Each choice is from a closed set, and its first option means everything. */
export function FilterBar({ filters, providers, countries, onChange }: Props) {
  const words = useWords(modelWords)
  const { filters: filtersOf } = useWords(kitWords)
  return (
    <search className="grid content-start gap-3 rounded-lg border border-line bg-surface p-4 shadow-raised">
      <TextField
        name="q"
        type="search"
        label={words.search}
        placeholder={words.searchExample}
        autoComplete="off"
        spellCheck={false}
        maxLength={searchLengthMax}
        value={filters.text}
        onChange={(event) => onChange({ ...filters, text: event.target.value })}
      />
      <div>
        <Fold label={filtersOf(countSet(filters))}>
          <Choices filters={filters} providers={providers} countries={countries} onChange={onChange} />
        </Fold>
      </div>
    </search>
  )
}

function Choices({ filters, providers, countries, onChange }: Props) {
  const words = useWords(modelWords)
  const language = useLanguage()
  return (
    <div className="grid grid-cols-2 gap-3 @lg:grid-cols-3 @3xl:grid-cols-4 @4xl:grid-cols-1">
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
      <Abilities
        chosen={filters.capabilities}
        onChange={(wanted) => onChange({ ...filters, capabilities: wanted })}
      />
      <NumberChoices filters={filters} onChange={onChange} />
      {(countries.length > 0 || filters.country !== undefined) && (
        <Choice
          name="country"
          label={words.country}
          all={words.anyCountry}
          value={filters.country}
          options={countries.map((one) => [one, nameOfCountry(one, language)])}
          onChoose={(country) => onChange({ ...filters, country })}
        />
      )}
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

/** Limits and prices. */
function NumberChoices({ filters, onChange }: Pick<Props, 'filters' | 'onChange'>) {
  const words = useWords(modelWords)
  const language = useLanguage()
  const { count } = formatsOf(language)
  const nameOfPrice = (one: (typeof prices)[number]) =>
    one === '0' ? words.free : words.upTo(formatRoubles(one, language))
  return (
    <>
      <Choice
        name="context"
        label={words.context}
        all={words.anyContext}
        value={filters.context}
        options={contexts.map((one) => [one, words.contextFrom(count.format(one))])}
        onChoose={(context) => onChange({ ...filters, context })}
      />
      <Choice
        name="max_output"
        label={words.output}
        all={words.anyContext}
        value={filters.output}
        options={outputs.map((one) => [one, words.contextFrom(count.format(one))])}
        onChoose={(output) => onChange({ ...filters, output })}
      />
      <Choice
        name="price"
        label={words.price}
        all={words.anyPrice}
        value={filters.price}
        options={prices.map((one) => [one, nameOfPrice(one)])}
        onChoose={(price) => onChange({ ...filters, price })}
      />
      <Choice
        name="output_price"
        label={words.outputPriceTo}
        all={words.anyPrice}
        value={filters.outputPrice}
        options={prices.map((one) => [one, nameOfPrice(one)])}
        onChoose={(outputPrice) => onChange({ ...filters, outputPrice })}
      />
    </>
  )
}

/** What a model must be able to do: any of these together. */
function Abilities({
  chosen,
  onChange,
}: {
  readonly chosen: ModelFilters['capabilities']
  readonly onChange: (chosen: ModelFilters['capabilities']) => void
}) {
  const words = useWords(modelWords)
  return (
    <fieldset className="grid min-w-0 content-start gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{words.capabilities}</legend>
      {capabilities.map((each) => (
        <CheckboxField
          key={each}
          name={each}
          checked={chosen.includes(each)}
          onChange={({ target }) =>
            onChange(capabilities.filter((one) => (one === each ? target.checked : chosen.includes(one))))
          }
        >
          <span className="text-sm">{words.capabilityNames[each]}</span>
        </CheckboxField>
      ))}
    </fieldset>
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
