import { useWords } from '../../i18n/language.ts'
import { classNames } from '../../kit/class-names.ts'
import { DayFilter } from '../../kit/filter-fields.tsx'
import { WithErrors } from '../../kit/form.tsx'
import { usageWords } from './messages.ts'
import type { UsageFilters, useUsageAddress } from './usage-filters.ts'

/** Period, step and grouping; all of them are in the address. */
export function UsageFilterBar({
  filters: { range, from, to, bucket, group, metric },
  errors,
  change,
}: {
  readonly filters: UsageFilters
  readonly errors: { readonly from?: string; readonly to?: string }
  readonly change: ReturnType<typeof useUsageAddress>[1]
}) {
  const words = useWords(usageWords)
  return (
    <div className="flex flex-wrap items-end gap-x-6 gap-y-4">
      <Choice
        label={words.range}
        options={words.ranges}
        chosen={range}
        onChoose={(next) =>
          change(
            next === 'custom'
              ? { range: next, from, to }
              : { range: next, from: undefined, to: undefined, bucket: undefined },
          )
        }
      />
      {range === 'custom' && (
        <WithErrors errors={errors}>
          <div className="not-on-paper flex flex-wrap items-start gap-4">
            <DayFilter
              name="from"
              label={words.from}
              value={from}
              onChange={(day) => change({ range: 'custom', from: day ?? from, to })}
            />
            <DayFilter
              name="to"
              label={words.to}
              value={to}
              onChange={(day) => change({ range: 'custom', from, to: day ?? to })}
            />
          </div>
        </WithErrors>
      )}
      <Choice
        label={words.bucket}
        options={words.buckets}
        chosen={bucket}
        onChoose={(next) => change({ bucket: next })}
      />
      <Choice
        label={words.groupBy}
        options={words.groups}
        chosen={group}
        onChoose={(next) => change({ group: next })}
      />
      <Choice
        label={words.metric}
        options={words.metrics}
        chosen={metric}
        onChoose={(next) => change({ metric: next })}
      />
    </div>
  )
}

/** A choice of a few options, all visible at once. */
function Choice<Id extends string>({
  label,
  options,
  chosen,
  onChoose,
}: {
  readonly label: string
  readonly options: Readonly<Record<Id, string>>
  readonly chosen: Id
  readonly onChoose: (id: Id) => void
}) {
  return (
    <fieldset className="grid gap-1.5">
      <legend className="float-start mb-1.5 text-sm font-medium">{label}</legend>
      <div className="clear-both flex flex-wrap gap-0.5 rounded-md border border-line bg-sunken p-0.5">
        {(Object.entries(options) as [Id, string][]).map(([id, name]) => (
          <button
            key={id}
            type="button"
            aria-pressed={id === chosen}
            className={classNames(
              'min-h-8 rounded-sm px-3 text-sm',
              id === chosen ? 'bg-raised font-medium text-ink shadow-raised' : 'text-muted hover:text-ink',
            )}
            onClick={() => onChoose(id)}
          >
            {name}
          </button>
        ))}
      </div>
    </fieldset>
  )
}
