import { useState } from 'react'
import type { Versioned } from '../../api/call.ts'
import { asProblem } from '../../api/problem.ts'
import { useReadVersioned } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import type { PageProps } from '../../app/page-group.ts'
import { useTitle } from '../../app/title.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import type { Key } from './key.ts'
import { KeyActions } from './key-actions.tsx'
import { KeyDetails } from './key-details.tsx'
import { KeyHistory, useKeyHistory } from './key-history.tsx'
import { StandingBadge } from './key-signs.tsx'
import { LimitsSection } from './limits-section.tsx'
import { keyWords } from './messages.ts'
import type { MadeKey } from './new-key-dialog.tsx'
import { RevokeSection } from './revoke-section.tsx'
import { RevokedKeyPage } from './revoked-key.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { WhyRefused } from './why-refused.tsx'

export function KeyPage({ params }: PageProps) {
  const words = useWords(keyWords)
  const title = pageRoutes['/app/keys/:key_id'].title[useLanguage()]
  const keyId = params.key_id ?? ''
  const query = useReadVersioned('/keys/:key_id', { params: { key_id: keyId } })
  const history = useKeyHistory(keyId)
  useTitle(query.data?.body.name)
  return (
    <>
      <p className="mb-3 text-sm">
        <TextLink href="/app/keys">{words.allKeys}</TextLink>
      </p>
      {query.error !== null && asProblem(query.error).status === 404 ? (
        <RevokedKeyPage keyId={keyId} heading={title} history={history} />
      ) : (
        <Loaded query={query} heading={title} skeleton={<Skeleton heightRem={48} />}>
          {(versioned) => <ShownKey versioned={versioned} history={history} />}
        </Loaded>
      )}
    </>
  )
}

function ShownKey({
  versioned,
  history,
}: {
  readonly versioned: Versioned<Key>
  readonly history: ReturnType<typeof useKeyHistory>
}) {
  const words = useWords(keyWords)
  const shown = versioned.body
  const [rotated, setRotated] = useState<MadeKey>()
  const isOurs = shown.managed_by === 'cabinet'
  const mayChange = useMay('keys.write')
  const hasForm = isOurs && mayChange
  return (
    <>
      <PageHead
        title={shown.name}
        lead={<StandingBadge shown={shown} />}
        actions={mayChange && <KeyActions shown={shown} onRotated={setRotated} />}
      />
      {/* All at once: a history that came later would push the rest down. */}
      {history.isAwaited ? (
        <Skeleton heightRem={48} />
      ) : (
        <div className="grid gap-6">
          {!isOurs && <Notice>{words.kubernetesNote}</Notice>}
          <KeyDetails shown={shown} hasForm={hasForm} />
          <KeyHistory history={history} />
          <WhyRefused keyId={shown.id} />
          {hasForm && <LimitsSection versioned={versioned} />}
          {hasForm && <RevokeSection shown={shown} />}
        </div>
      )}
      {rotated && <SecretDialog made={rotated} isRotated onClose={() => setRotated(undefined)} />}
    </>
  )
}
