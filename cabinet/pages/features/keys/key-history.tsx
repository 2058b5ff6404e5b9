import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { spendingWords } from '../spending/messages.ts'
import { isAwaited, requestsOf, useSpending } from '../spending/spending.ts'
import { SpendingFacts, TopModels } from '../spending/spending-facts.tsx'
import { isKeyId } from '../usage/request-filters.ts'
import { RequestTable } from '../usage/request-table.tsx'
import { keyWords } from './messages.ts'

const latestShown = 5
/** Rejections change no data, so there are no hints for them. */
const refetchInterval = 5_000

/** What a key has spent, and its latest requests and rejections. Nothing is read if no key can have the id. */
export function useKeyHistory(keyId: string) {
  const isEnabled = isKeyId(keyId)
  const spending = useSpending({ keyId, isEnabled })
  const query = { key_id: keyId, limit: latestShown }
  const latest = useRead('/activity', { query }, { refetchInterval, enabled: isEnabled })
  return { keyId, spending, latest, isAwaited: isAwaited(spending) || isAwaited(latest) }
}

type History = ReturnType<typeof useKeyHistory>

/** Nothing of a key that was never used. */
export function KeyHistory({ history }: { readonly history: History }) {
  return (
    <>
      <KeySpending {...history} />
      <LatestActivity {...history} />
    </>
  )
}

function KeySpending({ keyId, spending }: History) {
  const words = useWords(spendingWords)
  const { requestsOf30Days } = useWords(keyWords)
  if (spending.data === undefined || spending.data.requests === 0) return null
  const known = spending.data
  return (
    <Section
      title={words.title}
      actions={<TextLink href={requestsOf(known, { key_id: keyId })}>{requestsOf30Days}</TextLink>}
    >
      <div className="grid gap-6">
        <SpendingFacts spending={known} keyId={keyId} />
        <TopModels spending={known} keyId={keyId} />
      </div>
    </Section>
  )
}

function LatestActivity({ keyId, latest }: History) {
  const words = useWords(keyWords)
  if (latest.data?.data.length === 0) return null
  return (
    <Section
      title={words.latest}
      actions={<TextLink href={`/app/requests?key_id=${keyId}`}>{words.allActivity}</TextLink>}
      isFlush
    >
      <Loaded query={latest} skeleton={<SkeletonRows count={latestShown} />}>
        {({ data }) => <RequestTable rows={data} isOfOneKey />}
      </Loaded>
    </Section>
  )
}
