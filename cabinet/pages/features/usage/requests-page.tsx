import { useEffect } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { addressOf } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { rowsOf, useReadList } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { formatTime } from '../../kit/date-time.tsx'
import { DownloadLink } from '../../kit/download-link.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { refusalWords } from '../keys/refusal-messages.ts'
import { FindRequest } from './find-request.tsx'
import { isCut } from './kept-since.ts'
import { usageWords } from './messages.ts'
import { RequestFilterBar } from './request-filter-bar.tsx'
import { noFilters, readRequestFilters, useRequestAddress } from './request-filters.ts'
import { RequestTable } from './request-table.tsx'

const pageSize = 50
/** Rejections change no data, so there are no hints for them. */
const refetchInterval = 5_000

/** Every settled and rejected request, filtered by the address; `?request_id=` redirects to that one. */
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
  const isWrong = Object.keys(errors).length > 0
  const list = useReadList(
    '/activity',
    { query: { ...query, limit: pageSize } },
    { refetchInterval, enabled: !isWrong },
  )
  const clear = () => change(noFilters)
  const { type, ...ofRequests } = query
  return (
    <>
      <PageHead
        title={pageRoutes['/app/requests'].title[language]}
        lead={words.requestsLead}
        actions={
          !isWrong &&
          type !== 'rejection' && (
            <DownloadLink href={addressOf('/requests.csv', { query: ofRequests })}>
              {words.settledCsv}
            </DownloadLink>
          )
        }
      />
      <div className="grid gap-6">
        <FindRequest />
        <Section title={pageRoutes['/app/requests'].title[language]} isFlush>
          <RequestFilterBar filters={filters} errors={errors} rows={rowsOf(list)} change={change} />
          {isWrong ? (
            <EmptyState
              text={errors.from === undefined ? words.filtersWrong : words.periodWrongHint}
              action={<Button onClick={clear}>{words.clearFilters}</Button>}
            />
          ) : (
            <RequestList list={list} query={query} onClear={clear} />
          )}
        </Section>
      </div>
    </>
  )
}

type Query = ReturnType<typeof readRequestFilters>['query']

function RequestList({
  list,
  query,
  onClear,
}: {
  readonly list: ReturnType<typeof useReadList<'/activity'>>
  readonly query: Query
  readonly onClear: () => void
}) {
  const words = useWords(usageWords)
  const rows = rowsOf(list)
  const mayTry = useMay('keys.write')
  return (
    <>
      <Loaded query={list} skeleton={<SkeletonRows count={12} />}>
        {({ pages: [first] }) => (
          <>
            {first !== undefined && <ListFacts first={first} from={query.from} />}
            {rows.length === 0 ? nothing() : <RequestTable rows={rows} />}
          </>
        )}
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

/** The sums of the settled requests of the whole list, and how far back its rejections go if it may begin earlier. */
function ListFacts({
  first: { totals, rejections },
  from,
}: {
  readonly first: Answer<'GET /activity'>
  readonly from: string | undefined
}) {
  const words = useWords(usageWords)
  const { notLive } = useWords(refusalWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  const mayLack = rejections !== null && (from === undefined || isCut(from, rejections.since, timeZone))
  const note =
    rejections !== null && !rejections.live
      ? notLive
      : mayLack && words.rejectionsSince(formatTime(rejections.since, language, timeZone, 'both'))
  return (
    <div className="grid gap-1 px-5 pb-3 text-sm">
      {totals !== null && (
        <p className="font-medium">
          {words.listTotals(totals.requests)} <Money rubles={totals.cost_rub} isSpent />
        </p>
      )}
      {note && <p className="text-muted">{note}</p>}
    </div>
  )
}
