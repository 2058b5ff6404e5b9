import { useRead } from '../../api/queries.ts'
import type { PageProps } from '../../app/page-group.ts'
import { useTitle } from '../../app/title.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { ButtonLink } from '../../kit/button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { LinkedText, TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { DocumentText } from './document-text.tsx'
import { type Kind, pageOfDocument, useDocuments, type Version as VersionOfList } from './documents.ts'
import { legalWords } from './messages.ts'
import { VersionName, VersionState } from './version-name.tsx'

/** A version of a document; without one in the address, the version in force. */
export function DocumentPage({ params }: PageProps) {
  const words = useWords(legalWords)
  const title = pageRoutes['/legal/:kind'].title[useLanguage()]
  const documents = useDocuments()
  // The length of a document is unknown, so the footer stays below the screen before and after loading.
  return (
    <div className="min-h-dvh">
      <p className="mb-3 text-sm">
        <TextLink href="/legal">{words.allDocuments}</TextLink>
      </p>
      <Loaded query={documents} heading={title} skeleton={<Skeleton heightRem={30} />}>
        {(all) => {
          const found = all.find(({ kind }) => kind === params.kind)
          const isAsked = ({ version, state }: VersionOfList) =>
            params.version === undefined ? state === 'in_force' : version === params.version
          const shown = found?.versions.find(isAsked)
          if (found === undefined || shown === undefined)
            return (
              <>
                <PageHead title={title} />
                <EmptyState
                  text={words.noSuch}
                  action={<ButtonLink href="/legal">{words.openList}</ButtonLink>}
                />
              </>
            )
          return <Version {...found} shown={shown} />
        }}
      </Loaded>
    </div>
  )
}

type Shown = {
  readonly kind: Kind
  readonly versions: readonly VersionOfList[]
  readonly shown: VersionOfList
}

function Version({ kind, versions, shown: { version, state } }: Shown) {
  const words = useWords(legalWords)
  const locale = useLanguage()
  const document = useRead('/legal/documents/:kind/:version/:locale', { params: { kind, version, locale } })
  const inForce = versions.find((one) => one.state === 'in_force')
  useTitle(words.kinds[kind])
  return (
    <>
      <PageHead
        title={words.kinds[kind]}
        lead={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <VersionName version={version} />
            <VersionState state={state} />
          </span>
        }
      />
      <div className="grid max-w-3xl gap-6">
        {state !== 'in_force' && inForce !== undefined && (
          <Notice tone="warning">
            <LinkedText text={words.toPresent[state]} href={pageOfDocument(kind, inForce.version)} />
          </Notice>
        )}
        <article className="rounded-lg border border-line bg-surface p-5 shadow-raised sm:p-8">
          <Loaded query={document} skeleton={<Skeleton heightRem={30} />}>
            {({ text }) => <DocumentText text={withoutHeading(text, words.kinds[kind])} />}
          </Loaded>
        </article>
        <OtherVersions kind={kind} others={versions.filter((one) => one.version !== version)} />
      </div>
    </>
  )
}

/** Left out because the page heading shows it. */
function withoutHeading(text: string, heading: string): string {
  return text.startsWith(`# ${heading}\n`) ? text.slice(heading.length + 2) : text
}

function OtherVersions({ kind, others }: { readonly kind: Kind; readonly others: readonly VersionOfList[] }) {
  const words = useWords(legalWords)
  return (
    <Section title={words.otherVersions}>
      {others.length === 0 ? (
        <p className="text-muted">{words.onlyVersion}</p>
      ) : (
        <ul className="grid gap-1">
          {others.map(({ version, state }) => (
            <li key={version} className="flex min-h-9 flex-wrap items-center gap-x-3">
              <TextLink href={pageOfDocument(kind, version)}>
                <VersionName version={version} />
              </TextLink>
              <VersionState state={state} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
