import { rowsOf, useRead, useReadList } from '../../api/queries.ts'
import { useTitle } from '../../app/title.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge, Notice } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton, SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import type { RevokedKey } from './key.ts'
import { Detail, LongerBudgets, Origin } from './key-details.tsx'
import { KeyHistory, type useKeyHistory } from './key-history.tsx'
import { AllowedModels, LastUsed, NameCell, Rates } from './key-signs.tsx'
import { keyWords } from './messages.ts'
import { RefusalList } from './refusal-list.tsx'

/** What a key was allowed, and the way to its requests. Nothing of it can be changed. */
export function RevokedKeyPage({
  keyId,
  heading,
  history,
}: {
  readonly keyId: string
  readonly heading: string
  readonly history: ReturnType<typeof useKeyHistory>
}) {
  const words = useWords(keyWords)
  const query = useRead('/revoked-keys/:key_id', { params: { key_id: keyId } })
  useTitle(query.data?.name)
  return (
    <Loaded query={query} heading={heading} skeleton={<Skeleton heightRem={30} />}>
      {(shown) => (
        <>
          <PageHead title={shown.name} lead={<Badge tone="neutral">{words.revokedStatus}</Badge>} />
          <div className="grid gap-6">
            <Notice>
              {words.revokedNote}{' '}
              <TextLink href={`/app/requests?key_id=${shown.id}`}>{words.itsRequests}</TextLink>
            </Notice>
            <RevokedDetails shown={shown} />
            {!history.isAwaited && <KeyHistory history={history} />}
            <LastRefusals keyId={shown.id} />
          </div>
        </>
      )}
    </Loaded>
  )
}

function RevokedDetails({ shown }: { readonly shown: RevokedKey }) {
  const words = useWords(keyWords)
  return (
    <Section title={words.details}>
      <dl className="grid gap-x-8 gap-y-5 sm:grid-cols-2 lg:grid-cols-3">
        <Detail name={words.revokedAt}>
          <DateTime at={shown.revoked_at} />
        </Detail>
        <Detail name={words.createdAt}>
          <DateTime at={shown.created_at} />
        </Detail>
        <Detail name={words.lastUsed}>
          <LastUsed shown={shown} />
        </Detail>
        <Detail name={words.budgets.daily_budget_rub}>
          {shown.daily_budget_rub === null ? (
            words.noBudget
          ) : (
            <Money rubles={shown.daily_budget_rub} isExact />
          )}
        </Detail>
        <LongerBudgets shown={shown} />
        <Detail name={words.perMinute}>
          <Rates shown={shown} />
        </Detail>
        <Detail name={words.models}>
          <AllowedModels shown={shown} />
        </Detail>
        <Detail name={words.secretHint}>
          <code className="font-mono text-sm wrap-anywhere">{shown.secret_hint ?? '—'}</code>
        </Detail>
        <Detail name={words.madeIn}>
          {shown.managed_by === 'cabinet' ? words.inCabinet : words.byKubectl}
        </Detail>
        <Origin shown={shown} />
      </dl>
    </Section>
  )
}

/** Its rejected requests among the last of the organization; nothing if there are none. */
function LastRefusals({ keyId }: { readonly keyId: string }) {
  const words = useWords(keyWords)
  const list = useReadList('/keys/:key_id/refusals', { params: { key_id: keyId } })
  const refusals = rowsOf(list)
  if (refusals.length === 0) return null
  return (
    <Section title={words.lastRefusals} isFlush>
      <RefusalList refusals={refusals} />
      <LoadMore list={list} />
    </Section>
  )
}

/** @param text only keys with it in their name. */
export function RevokedKeys({ text }: { readonly text: string | undefined }) {
  const words = useWords(keyWords)
  const list = useReadList('/revoked-keys', { query: { limit: 50, ...(text && { q: text }) } })
  const keys = rowsOf(list)
  return (
    <Loaded query={list} skeleton={<SkeletonRows count={6} />}>
      {() =>
        keys.length === 0 ? (
          <EmptyState text={text ? words.noneFound : words.noneRevoked} />
        ) : (
          <>
            <RevokedTable keys={keys} />
            <LoadMore list={list} />
          </>
        )
      }
    </Loaded>
  )
}

function RevokedTable({ keys }: { readonly keys: readonly RevokedKey[] }) {
  const words = useWords(keyWords)
  const columns: readonly Column<RevokedKey>[] = [
    { id: 'name', head: words.name, cell: (key) => <NameCell shown={key} /> },
    { id: 'revoked', head: words.revokedAt, cell: ({ revoked_at }) => <DateTime at={revoked_at} /> },
    { id: 'used', head: words.lastUsed, cell: (key) => <LastUsed shown={key} /> },
    {
      id: 'requests',
      head: words.requestsHead,
      cell: ({ id }) => <TextLink href={`/app/requests?key_id=${id}`}>{words.itsRequests}</TextLink>,
    },
  ]
  return <Table caption={words.revokedKeys} columns={columns} rows={keys} keyOf={({ id }) => id} />
}
