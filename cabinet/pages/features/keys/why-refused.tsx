import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge, Notice } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton, SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { keyWords } from './messages.ts'
import { formatAmount, reasonOf } from './refusal-facts.ts'
import { RefusalList } from './refusal-list.tsx'
import { refusalWords } from './refusal-messages.ts'

type Limit = Answer<'GET /keys/:key_id/effective-limits'>['limits'][number]

/** Rejections change no data, so there are no hints for them. */
const refetchInterval = 3_000
const refusalsShown = 10

/** The present state of each limit of a key, and the last requests that a limit rejected. */
export function WhyRefused({ keyId }: { readonly keyId: string }) {
  const words = useWords(keyWords)
  const { notLive } = useWords(refusalWords)
  const input = { params: { key_id: keyId } }
  const limits = useRead('/keys/:key_id/effective-limits', input, { refetchInterval })
  const refusals = useRead(
    '/keys/:key_id/refusals',
    { ...input, query: { limit: refusalsShown } },
    { refetchInterval },
  )
  return (
    <Section title={words.whyTitle} lead={words.whyLead} isFlush>
      <Loaded query={limits} skeleton={<SkeletonRows count={9} />}>
        {(found) => (
          <>
            <div className="grid gap-3 px-5 pt-1 pb-3">
              <Verdict limits={found.limits} />
              {!found.live && <p className="text-sm text-muted">{words.notLive}</p>}
            </div>
            <LimitTable limits={found.limits} />
          </>
        )}
      </Loaded>
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 border-t border-line px-5 pt-4 pb-1">
        <h3 className="text-base">{words.lastRefusals}</h3>
        {(refusals.data?.data.length ?? 0) > 0 && (
          <TextLink href={`/app/requests?key_id=${keyId}&type=rejection`}>{words.allRefusals}</TextLink>
        )}
      </div>
      <Loaded query={refusals} skeleton={<Skeleton heightRem={4} />}>
        {({ live, data }) =>
          data.length > 0 ? (
            <RefusalList refusals={data} />
          ) : (
            <p className="px-5 pb-5 text-muted">{live ? words.noRefusals : notLive}</p>
          )
        }
      </Loaded>
    </Section>
  )
}

function Verdict({ limits }: { readonly limits: readonly Limit[] }) {
  const words = useWords(keyWords)
  const reasons = useWords(refusalWords)
  const refusing = limits.find(({ would_refuse }) => would_refuse)
  return (
    <Notice tone={refusing === undefined ? 'success' : 'danger'}>
      {refusing === undefined
        ? words.passes
        : words.refuses(lowerFirst(reasonOf({ code: refusing.code ?? '', scope: refusing.scope }, reasons)))}
    </Notice>
  )
}

function LimitTable({ limits }: { readonly limits: readonly Limit[] }) {
  const words = useWords(keyWords)
  const { scopes } = useWords(refusalWords)
  const columns: readonly Column<Limit>[] = [
    { id: 'name', head: words.limitName, cell: ({ scope }) => scopes[scope] },
    {
      id: 'limit',
      head: words.limit,
      isNumber: true,
      cell: (limit) => (limit.scope === 'block' ? null : <LimitValue limit={limit} />),
    },
    {
      id: 'used',
      head: words.used,
      isNumber: true,
      cell: (limit) => (limit.used === null && !isHeld(limit) ? null : <UsedValue limit={limit} />),
    },
    {
      id: 'remaining',
      head: words.remaining,
      isNumber: true,
      cell: ({ remaining }) => (remaining === null ? null : <Amount amount={remaining} />),
    },
    {
      id: 'resets',
      head: words.resetsAt,
      cell: ({ resets_at }) => resets_at && <DateTime at={resets_at} />,
    },
    {
      id: 'verdict',
      head: words.verdict,
      cell: ({ would_refuse }) => (
        <Badge tone={would_refuse ? 'danger' : 'success'}>
          {would_refuse ? words.wouldRefuse : words.wouldPass}
        </Badge>
      ),
    },
  ]
  return <Table caption={words.whyLead} columns={columns} rows={limits} keyOf={({ scope }) => scope} />
}

/** Part of it is reserved for requests in progress. */
function isHeld({ held }: Pick<Limit, 'held'>): boolean {
  return held !== null && !/^[0.]+$/.test(String(held))
}

function LimitValue({ limit: { scope, limit } }: { readonly limit: Limit }) {
  const words = useWords(keyWords)
  if (limit === null && scope === 'balance') return null // only for members who may read it
  if (limit === null)
    return <span className="text-muted">{scope === 'models' ? words.allModels : words.unlimited}</span>
  if (typeof limit === 'object')
    return (
      <span title={limit.join('\n')}>
        {limit.length === 1
          ? limit[0]
          : scope === 'ips'
            ? words.ipsCount(limit.length)
            : words.modelsCount(limit.length)}
      </span>
    )
  if (scope === 'expiry') return <DateTime at={String(limit)} />
  return <Amount amount={limit} />
}

function UsedValue({ limit: { used, held } }: { readonly limit: Limit }) {
  const words = useWords(keyWords)
  const language = useLanguage()
  return (
    <>
      <Amount amount={used} />
      {held !== null && isHeld({ held }) && (
        <span className="block text-xs text-muted">
          {words.held} {formatAmount(held, language)}
        </span>
      )}
    </>
  )
}

function Amount({ amount }: { readonly amount: Limit['used'] }) {
  const language = useLanguage()
  return amount === null ? <Dash /> : formatAmount(amount, language)
}

function Dash() {
  return <span className="text-muted">—</span>
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}
