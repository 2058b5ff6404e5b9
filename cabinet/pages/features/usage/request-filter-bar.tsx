import { useId } from 'react'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { formatTime } from '../../kit/date-time.tsx'
import { FieldError, SelectField } from '../../kit/fields.tsx'
import { DayFilter, FilterBar, TextFilter } from '../../kit/filter-fields.tsx'
import { WithErrors } from '../../kit/form.tsx'
import { KeyFilter } from './key-filter.tsx'
import { usageWords } from './messages.ts'
import { countSet, isExactSpan, type RequestFilters, type useRequestAddress } from './request-filters.ts'

type Change = ReturnType<typeof useRequestAddress>[1]

/** By time, key, model and outcome. */
export function RequestFilterBar({
  filters,
  errors,
  change,
}: {
  readonly filters: RequestFilters
  readonly errors: { readonly from?: string }
  readonly change: Change
}) {
  const words = useWords(usageWords)
  const maySeeKeys = useMay('keys.read')
  const { from, to, key_id, model, outcome } = filters
  return (
    <WithErrors errors={errors}>
      <FilterBar setCount={countSet(filters)} isWrong={errors.from !== undefined}>
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
        <ModelFilter model={model} onChange={(name) => change({ model: name })} />
        <SelectField
          name="outcome"
          label={words.outcome}
          value={outcome ?? ''}
          onChange={({ target }) => change({ outcome: target.value })}
        >
          <option value="">{words.allOutcomes}</option>
          {Object.entries(words.outcomes).map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
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

/** Any text: models that are no longer sold have requests too. */
function ModelFilter({
  model,
  onChange,
}: {
  readonly model: string | undefined
  readonly onChange: (name: string | undefined) => void
}) {
  const words = useWords(usageWords)
  const { data } = useRead('/models/models-with-pricing')
  const id = useId()
  return (
    <>
      <TextFilter name="model" label={words.model} value={model} onChange={onChange} suggestions={id} />
      <datalist id={id}>
        {data?.data.map((one) => (
          <option key={one.id} value={one.id} />
        ))}
      </datalist>
    </>
  )
}
