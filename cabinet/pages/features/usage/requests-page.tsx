import { useEffect } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { addressOf } from '../../api/call.ts'
import { rowsOf, useReadList } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { DownloadLink } from '../../kit/download-link.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { FindRequest } from './find-request.tsx'
import { usageWords } from './messages.ts'
import { RequestFilterBar } from './request-filter-bar.tsx'
import { readRequestFilters, useRequestAddress } from './request-filters.ts'
import { RequestTable } from './request-table.tsx'

const pageSize = 50

/** Every settled request, filtered by the address; `?request_id=` redirects to that receipt. */
export function RequestsPage() {
  const words = useWords(usageWords)
  const language = useLanguage()
  const [filters, change] = useRequestAddress()
  const { request_id } = filters
  useEffect(() => {
    if (request_id !== undefined)
      navigate(`/app/requests/${encodeURIComponent(request_id)}`, { replace: true })
  }, [request_id])
  const { query, errors } = readRequestFilters(filters, words, useTimeZone())
  const isWrong = errors.from !== undefined
  const clear = () =>
    change({ from: undefined, to: undefined, key_id: undefined, model: undefined, outcome: undefined })
  return (
    <>
      <PageHead
        title={pageRoutes['/app/requests'].title[language]}
        lead={words.requestsLead}
        actions={
          !isWrong && <DownloadLink href={addressOf('/requests.csv', { query })}>{words.csv}</DownloadLink>
        }
      />
      <div className="grid gap-6">
        <FindRequest />
        <Section title={pageRoutes['/app/requests'].title[language]} isFlush>
          <RequestFilterBar filters={filters} errors={errors} change={change} />
          {isWrong ? (
            <EmptyState
              text={words.periodWrongHint}
              action={<Button onClick={clear}>{words.clearFilters}</Button>}
            />
          ) : (
            <RequestList query={query} onClear={clear} />
          )}
        </Section>
      </div>
    </>
  )
}

function RequestList({
  query,
  onClear,
}: {
  readonly query: ReturnType<typeof readRequestFilters>['query']
  readonly onClear: () => void
}) {
  const words = useWords(usageWords)
  const list = useReadList('/requests', { query: { ...query, limit: pageSize } })
  const rows = rowsOf(list)
  const mayTry = useMay('keys.write')
  return (
    <>
      <Loaded query={list} skeleton={<SkeletonRows count={12} />}>
        {() => (rows.length === 0 ? nothing() : <RequestTable rows={rows} />)}
      </Loaded>
      <LoadMore list={list} />
    </>
  )

  function nothing() {
    if (list.hasNextPage) return <EmptyState text={words.nothingHere} />
    if (Object.keys(query).length > 0)
      return (
        <EmptyState
          text={words.noRequestsFound}
          action={<Button onClick={onClear}>{words.clearFilters}</Button>}
        />
      )
    return (
      <EmptyState
        text={words.noRequests}
        action={mayTry && <ButtonLink href="/app/playground">{words.toPlayground}</ButtonLink>}
      />
    )
  }
}
