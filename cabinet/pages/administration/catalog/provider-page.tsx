import { useState } from 'react'
import { useTitle } from '../../app/title.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { type Answer, useReadVersioned } from '../calls.ts'
import type { PageProps } from '../page-props.ts'
import { addressOfModel, type Provider, ReadOnlyNotice, SpecSection, Troubles } from './catalog-parts.tsx'
import { catalogAdminWords } from './messages.ts'
import { ProviderSpecDialog } from './spec-dialog.tsx'

/** One provider: its health, its models and its spec. */
export function ProviderPage({ params }: PageProps) {
  const name = params['*'] ?? ''
  const provider = useReadVersioned('/admin/providers/:provider', { params: { provider: name } })
  useTitle(name)
  return (
    <>
      <PageHead title={name} {...(provider.data !== undefined && { lead: provider.data.body.api })} />
      <Loaded query={provider} skeleton={<Skeleton heightRem={40} />}>
        {({ body, etag }) => <Shown provider={body} etag={etag} />}
      </Loaded>
    </>
  )
}

function Shown({
  provider,
  etag,
}: {
  readonly provider: Answer<'GET /admin/providers/:provider'>
  readonly etag: string | undefined
}) {
  const words = useWords(catalogAdminWords)
  const [isChanging, setChanging] = useState(false)
  return (
    <div className="grid gap-6">
      <ReadOnlyNotice {...provider} />
      <div className="grid gap-4 lg:grid-cols-2">
        <Figure label={words.credential} value={provider.has_credential ? words.stored : words.absent} />
        <Figure label={words.health} value={<ProviderHealth {...provider} />} />
      </div>
      <Section title={words.models}>
        {provider.models.length === 0 ? (
          <EmptyState text={words.none} />
        ) : (
          <ul className="grid gap-1">
            {provider.models.map((model) => (
              <li key={model} className="break-all">
                <TextLink href={addressOfModel(model)}>{model}</TextLink>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <SpecSection
        lead={words.providerSpecLead}
        spec={provider.spec}
        {...(provider.kubernetes === null && {
          actions: (
            <Button size="small" onClick={() => setChanging(true)}>
              {words.changeSpec}
            </Button>
          ),
        })}
      />
      {isChanging && (
        <ProviderSpecDialog
          changed={{ name: provider.name, spec: provider.spec, etag }}
          onClose={() => setChanging(false)}
        />
      )}
    </div>
  )
}

/** Without a problem, a response proves that it works. */
export function ProviderHealth({ troubles, answering_count, gateway_count }: Provider) {
  const words = useWords(catalogAdminWords)
  if (troubles.length > 0) return <Troubles troubles={troubles} />
  if (answering_count === 0) return <Badge>{words.notTried}</Badge>
  return <Badge tone="success">{words.answers(answering_count, gateway_count)}</Badge>
}
