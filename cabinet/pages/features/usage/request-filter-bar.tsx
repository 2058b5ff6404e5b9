import { useId, useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { formatTime } from '../../kit/date-time.tsx'
import { FieldError, SelectField } from '../../kit/fields.tsx'
import { DayFilter, FilterBar, TextFilter } from '../../kit/filter-fields.tsx'
import { WithErrors } from '../../kit/form.tsx'
import { refusalWords } from '../keys/refusal-messages.ts'
import { KeyFilter } from './key-filter.tsx'
import { usageWords } from './messages.ts'
import {
  type ActivityRow,
  countSet,
  type FilterErrors,
  isExactSpan,
  type RequestFilters,
  type useRequestAddress,
} from './request-filters.ts'

type Change = ReturnType<typeof useRequestAddress>[1]

/** By time, key, model, outcome, provider, status, code, cost and a part of the id. `rows`: those shown, for suggestions. */
export function RequestFilterBar({
  filters,
  errors,
  rows,
  change,
}: {
  readonly filters: RequestFilters
  readonly errors: FilterErrors
  readonly rows: readonly ActivityRow[]
  readonly change: Change
}) {
  const words = useWords(usageWords)
  const maySeeKeys = useMay('keys.read')
  const { from, to, key_id, type, outcome, status } = filters
  const isErrors = status === 'error'
  return (
    <WithErrors errors={errors}>
      <FilterBar setCount={countSet(filters)} isWrong={Object.keys(errors).length > 0}>
        {isExactSpan(filters) ? (
          <ExactSpan
            {...filters}
            error={errors.from}
            onClear={() => change({ from: undefined, to: undefined })}
          />
        ) : (
          <div className="grid gap-4 sm:col-span-2 sm:grid-cols-2">
            <DayFilter
              name="from"
              label={words.from}
              value={from}
              onChange={(day) => change({ from: day })}
            />
            <DayFilter name="to" label={words.to} value={to} onChange={(day) => change({ to: day })} />
          </div>
        )}
        {maySeeKeys && <KeyFilter keyId={key_id} onChange={(id) => change({ key_id: id })} />}
        <ModelFilter filters={filters} error={errors.model_contains ?? errors.model} change={change} />
        <SelectField
          name="outcome"
          label={words.outcome}
          value={isErrors ? 'error' : (outcome ?? type ?? '')}
          onChange={({ target: { value } }) =>
            change({
              type: value === 'request' || value === 'rejection' ? value : undefined,
              outcome: value === 'request' || value === 'rejection' || value === 'error' ? undefined : value,
              ...((isErrors || value === 'error') && { status: value === 'error' ? value : undefined }),
            })
          }
        >
          <option value="">{words.allOutcomes}</option>
          <option value="request">{words.settledOnly}</option>
          <option value="rejection">{words.rejectedOnly}</option>
          <option value="error">{words.errorsOnly}</option>
          {Object.entries(words.outcomes).map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <TypedFilters filters={filters} rows={rows} change={change} />
      </FilterBar>
    </WithErrors>
  )
}

/** Replaces the days: a span of instants, from an hourly bar. */
function ExactSpan({
  from,
  to,
  error,
  onClear,
}: RequestFilters & { readonly error: string | undefined; readonly onClear: () => void }) {
  const id = useId()
  const words = useWords(usageWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  const shown = [from, to].map((end) =>
    end === undefined ? '…' : formatTime(end, language, timeZone, 'both'),
  )
  return (
    <div className="grid content-start justify-items-start gap-1.5 sm:col-span-2">
      <p className="text-sm font-medium">{words.exactSpan(shown.join(' — '))}</p>
      <FieldError id={id} error={error} />
      <Button size="small" icon="close" onClick={onClear}>
        {words.anySpan}
      </Button>
    </div>
  )
}

function TypedFilters({
  filters,
  rows,
  change,
}: {
  readonly filters: RequestFilters
  readonly rows: readonly ActivityRow[]
  readonly change: Change
}) {
  const words = useWords(usageWords)
  const { reasons } = useWords(refusalWords)
  const id = useId()
  const providers = useProviders(rows)
  const suggested = { provider: providers, error_code: Object.keys(reasons) }
  const fields = [
    ['provider', words.provider],
    ['tag', words.tag],
    ['status', words.status],
    ['error_code', words.errorCode],
    ['cost_from', words.costFrom],
    ['cost_to', words.costTo],
    ['id_contains', words.idContains],
  ] as const
  return (
    <>
      {fields.map(([name, label]) => (
        <TextFilter
          key={name}
          name={name}
          label={label}
          value={name === 'status' && filters.status === 'error' ? undefined : filters[name]}
          onChange={(text) => change({ [name]: text })}
          {...(name in suggested && { suggestions: `${id}-${name}` })}
          {...(name === 'status' && { hint: words.statusHint })}
          {...(name in suggested && { hint: words.wholeHint })}
        />
      ))}
      {Object.entries(suggested).map(([name, values]) => (
        <datalist key={name} id={`${id}-${name}`}>
          {values.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      ))}
    </>
  )
}

/** Every provider that the list has shown: a filter that nothing matches must not remove the suggestions. */
function useProviders(rows: readonly ActivityRow[]): readonly string[] {
  const [known, setKnown] = useState<readonly string[]>([])
  const all = [...new Set([...known, ...rows.flatMap(({ provider }) => provider ?? [])])].toSorted()
  if (all.length > known.length) setKnown(all)
  return all
}

/** A model of the catalog by its whole name; any other text is a part of one, because removed models have requests too. */
function ModelFilter({
  filters: { model, model_contains },
  error,
  change,
}: {
  readonly filters: RequestFilters
  readonly error: string | undefined
  readonly change: Change
}) {
  const words = useWords(usageWords)
  const { data } = useRead('/models/models-with-pricing')
  const id = useId()
  const isWhole = (text: string | undefined) => data?.data.some((one) => one.id === text) === true
  return (
    <WithErrors errors={{ model: error }}>
      <TextFilter
        name="model"
        label={words.model}
        hint={words.modelHint}
        value={model ?? model_contains}
        onChange={(text) =>
          change(
            isWhole(text)
              ? { model: text, model_contains: undefined }
              : { model: undefined, model_contains: text },
          )
        }
        suggestions={id}
      />
      <datalist id={id}>
        {data?.data.map((one) => (
          <option key={one.id} value={one.id} />
        ))}
      </datalist>
    </WithErrors>
  )
}
