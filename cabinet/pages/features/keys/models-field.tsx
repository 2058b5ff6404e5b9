import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { FieldError } from '../../kit/fields.tsx'
import { useFieldIds } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { keyWords } from './messages.ts'

/** All models, or some of the catalog: sent as `models` and `allowed_models`. */
export function ModelsField({ chosen }: { readonly chosen: readonly string[] | null }) {
  const words = useWords(keyWords)
  const [isChosen, setChosen] = useState(chosen !== null)
  return (
    <fieldset className="grid min-w-0 gap-2">
      <legend className="mb-1.5 text-sm font-medium">{words.whichModels}</legend>
      <Choice value="all" label={words.anyModel} isOn={!isChosen} onChoose={() => setChosen(false)} />
      <Choice value="chosen" label={words.chosenModels} isOn={isChosen} onChoose={() => setChosen(true)} />
      {isChosen && <ModelsOfCatalog chosen={chosen ?? []} />}
    </fieldset>
  )
}

function Choice({
  value,
  label,
  isOn,
  onChoose,
}: {
  readonly value: string
  readonly label: string
  readonly isOn: boolean
  readonly onChoose: () => void
}) {
  return (
    <label className="flex items-center gap-3">
      <input
        type="radio"
        name="models"
        value={value}
        checked={isOn}
        onChange={onChoose}
        className="size-6 shrink-0 accent-accent"
      />
      {label}
    </label>
  )
}

function ModelsOfCatalog({ chosen }: { readonly chosen: readonly string[] }) {
  const models = useRead('/models/models-with-pricing')
  return (
    <Loaded query={models} skeleton={<Skeleton heightRem={15} />}>
      {({ data }) => <ModelBoxes chosen={chosen} entries={entriesOf(data, chosen)} />}
    </Loaded>
  )
}

/** Hidden options stay in the form: the search does not change what is sent. */
function ModelBoxes({
  chosen,
  entries,
}: {
  readonly chosen: readonly string[]
  readonly entries: readonly string[]
}) {
  const words = useWords(keyWords)
  const { id, error, attributes } = useFieldIds('allowed_models', undefined)
  const [sought, setSought] = useState('')
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set(chosen))
  const isShown = (entry: string) => entry.toLowerCase().includes(sought.trim().toLowerCase())
  const describedBy = attributes['aria-describedby']

  function tick(entry: string, isTicked: boolean): void {
    const others = [...ticked].filter((other) => other !== entry)
    setTicked(new Set(isTicked ? [...others, entry] : others))
  }

  return (
    <div className="grid min-w-0 gap-2 ps-9">
      <input
        type="search"
        aria-label={words.filterModels}
        placeholder={words.filterModels}
        value={sought}
        onChange={({ target }) => setSought(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.preventDefault() // Enter searches; it does not submit
        }}
        className="block min-h-10 w-full rounded-md border border-edge bg-surface px-3 py-2 text-base text-ink"
      />
      <ul className="max-h-52 overflow-y-auto rounded-md border border-line p-1">
        {entries.map((entry) => (
          <li key={entry} hidden={!isShown(entry)}>
            <label className="flex min-h-9 items-center gap-3 rounded-sm px-2 hover:bg-hover">
              <input
                type="checkbox"
                name="allowed_models"
                value={entry}
                checked={ticked.has(entry)}
                onChange={({ target }) => tick(entry, target.checked)}
                aria-invalid={error !== undefined || undefined}
                aria-describedby={describedBy}
                className="size-5 shrink-0 accent-accent"
              />
              <EntryName entry={entry} />
            </label>
          </li>
        ))}
        {!entries.some(isShown) && <li className="p-2 text-sm text-muted">{words.nothingFound}</li>}
      </ul>
      <p className="text-sm text-muted">{words.chosenCount(ticked.size)}</p>
      <FieldError id={id} error={error} />
    </div>
  )
}

function EntryName({ entry }: { readonly entry: string }) {
  const words = useWords(keyWords)
  return entry.endsWith('/*') ? (
    <span className="min-w-0 font-medium wrap-anywhere">{words.allOf(entry.slice(0, -2))}</span>
  ) : (
    <span className="min-w-0 wrap-anywhere">{entry}</span>
  )
}

/** Each provider as a whole with its models, then models of the key that are no longer in the catalog. Pure. */
function entriesOf(models: readonly { readonly id: string }[], chosen: readonly string[]): readonly string[] {
  const byProvider = Map.groupBy(models, ({ id }) => id.split('/', 1)[0] ?? '')
  const known = [...byProvider].flatMap(([provider, own]) => [`${provider}/*`, ...own.map(({ id }) => id)])
  return [...new Set([...known, ...chosen])]
}
