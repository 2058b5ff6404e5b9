import {
  type Dispatch,
  type SetStateAction,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { modelWords } from './messages.ts'
import { comparedMax, type Model, readCompared } from './model.ts'
import { FilterBar } from './model-filter-bar.tsx'
import { findModels, type ModelFilters, readFilters, writeFilters } from './model-filters.ts'
import { ModelList } from './model-list.tsx'
import { cabinetModels, pageOfComparison } from './model-path.ts'

/** The catalog: models and their prices. */
export function ModelsPage() {
  const words = useWords(modelWords)
  const language = useLanguage()
  const models = useRead('/models/models-with-pricing')
  return (
    <>
      <PageHead title={pageRoutes['/app/models'].title[language]} lead={words.lead} />
      <Loaded query={models} skeleton={<SkeletonRows count={12} />}>
        {({ data }) => <Catalog models={data} />}
      </Loaded>
    </>
  )
}

function Catalog({ models }: { readonly models: readonly Model[] }) {
  const [{ filters, compared }, setAsked] = useAskedOfAddress()
  // Typing shows at once; the list follows when there is time.
  const wanted = useDeferredValue(filters)
  const found = useMemo(() => findModels(models, wanted), [models, wanted])
  const providers = useMemo(() => [...new Set(models.map(({ provider }) => provider))].toSorted(), [models])
  const countries = useMemo(
    () => [...new Set(models.flatMap((model) => model.countries ?? []))].toSorted(),
    [models],
  )
  const setFilters = useCallback(
    (changed: ModelFilters) => setAsked((asked) => ({ ...asked, filters: changed })),
    [setAsked],
  )
  const reset = useCallback(() => setFilters(readFilters('')), [setFilters])
  const compare = useCallback(
    (id: string, how: 'add' | 'remove') =>
      setAsked((asked) => {
        const others = asked.compared.filter((one) => one !== id)
        return { ...asked, compared: how === 'add' ? [...others, id].slice(0, comparedMax) : others }
      }),
    [setAsked],
  )
  const clear = () => setAsked((asked) => ({ ...asked, compared: [] }))
  return (
    <div className="@container">
      <div className="grid items-start gap-4 @4xl:grid-cols-[12rem_minmax(0,1fr)]">
        <FilterBar filters={filters} providers={providers} countries={countries} onChange={setFilters} />
        <div className="grid min-w-0 gap-3">
          <Found count={found.length} compared={compared} onClear={clear} />
          <ModelList models={found} compared={compared} onCompare={compare} onReset={reset} />
        </div>
      </div>
    </div>
  )
}

/** How many models match, and those chosen for a comparison. */
function Found({
  count,
  compared,
  onClear,
}: {
  readonly count: number
  readonly compared: readonly string[]
  readonly onClear: () => void
}) {
  const words = useWords(modelWords)
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
      <p role="status" className="me-auto">
        {words.found(count)}
      </p>
      {compared.length === 0 ? (
        <p>{words.chooseToCompare}</p>
      ) : (
        <>
          <p>{words.chosenToCompare(compared.length, comparedMax)}</p>
          <Button size="small" variant="quiet" onClick={onClear}>
            {words.clearCompared}
          </Button>
          <ButtonLink size="small" href={pageOfComparison(cabinetModels, compared)}>
            {words.compare}
          </ButtonLink>
        </>
      )}
    </div>
  )
}

const addressAfterMs = 250

type Asked = { readonly filters: ModelFilters; readonly compared: readonly string[] }

const readAsked = (search: string): Asked => ({
  filters: readFilters(search),
  compared: readCompared(search),
})
const writeAsked = ({ filters, compared }: Asked) => writeFilters(filters, compared)

/** What the address asks for. The address follows a moment later: browsers limit how often it may change. */
function useAskedOfAddress(): [Asked, Dispatch<SetStateAction<Asked>>] {
  const search = useSearch()
  const [asked, setAsked] = useState(() => readAsked(search))
  const written = useRef(writeAsked(asked))

  useEffect(() => {
    const address = writeAsked(readAsked(search))
    if (address === written.current) return
    written.current = address // the user went back or followed a link
    setAsked(readAsked(search))
  }, [search])

  useEffect(() => {
    const address = writeAsked(asked)
    if (address === written.current) return
    const timer = setTimeout(() => {
      written.current = address
      navigate(`${location.pathname}${address}`, { replace: true })
    }, addressAfterMs)
    return () => clearTimeout(timer)
  }, [asked])

  return [asked, setAsked]
}
