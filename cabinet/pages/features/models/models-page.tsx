import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { modelWords } from './messages.ts'
import type { Model } from './model.ts'
import { FilterBar } from './model-filter-bar.tsx'
import { findModels, type ModelFilters, readFilters, writeFilters } from './model-filters.ts'
import { ModelList } from './model-list.tsx'

/** The catalog: models and their prices. */
export function ModelsPage() {
  const words = useWords(modelWords)
  const language = useLanguage()
  const models = useRead('/models/models-with-pricing')
  return (
    <>
      <PageHead title={pageRoutes['/models'].title[language]} lead={words.lead} />
      <Loaded query={models} skeleton={<SkeletonRows count={12} />}>
        {({ data }) => <Catalog models={data} />}
      </Loaded>
    </>
  )
}

function Catalog({ models }: { readonly models: readonly Model[] }) {
  const words = useWords(modelWords)
  const [filters, setFilters] = useFiltersOfAddress()
  // Typing shows at once; the list follows when there is time.
  const wanted = useDeferredValue(filters)
  const found = useMemo(() => findModels(models, wanted), [models, wanted])
  const providers = useMemo(() => [...new Set(models.map(({ provider }) => provider))].toSorted(), [models])
  const reset = useCallback(() => setFilters(readFilters('')), [setFilters])
  return (
    <div className="grid gap-4">
      <FilterBar filters={filters} providers={providers} onChange={setFilters} />
      <p role="status" className="text-sm text-muted">
        {words.found(found.length)}
      </p>
      <ModelList models={found} onReset={reset} />
    </div>
  )
}

const addressAfterMs = 250

/** The filters, and the address, which follows a moment later: browsers limit how often it may change. */
function useFiltersOfAddress(): [ModelFilters, (filters: ModelFilters) => void] {
  const search = useSearch()
  const [filters, setFilters] = useState(() => readFilters(search))
  const written = useRef(writeFilters(filters))

  useEffect(() => {
    const address = writeFilters(readFilters(search))
    if (address === written.current) return
    written.current = address // the user went back or followed a link
    setFilters(readFilters(search))
  }, [search])

  useEffect(() => {
    const address = writeFilters(filters)
    if (address === written.current) return
    const timer = setTimeout(() => {
      written.current = address
      navigate(`${location.pathname}${address}`, { replace: true })
    }, addressAfterMs)
    return () => clearTimeout(timer)
  }, [filters])

  return [filters, setFilters]
}
