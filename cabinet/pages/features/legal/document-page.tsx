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
import { type Kind, pageOfDocument, useDocuments } from './documents.ts'
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
          const version = params.version ?? found?.versions[0]
          if (found === undefined || version === undefined || !found.versions.includes(version))
            return (
              <>
                <PageHead title={title} />
                <EmptyState
                  text={words.noSuch}
                  action={<ButtonLink href="/legal">{words.openList}</ButtonLink>}
                />
              </>
            )
          return <Version {...found} version={version} />
        }}
      </Loaded>
    </div>
  )
}

type Shown = { readonly kind: Kind; readonly versions: readonly string[]; readonly version: string }

function Version({ kind, versions, version }: Shown) {
  const words = useWords(legalWords)
  const locale = useLanguage()
  const document = useRead('/legal/documents/:kind/:version/:locale', { params: { kind, version, locale } })
  const [inForce = version] = versions
  useTitle(words.kinds[kind])
  return (
    <>
      <PageHead
        title={words.kinds[kind]}
        lead={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <VersionName version={version} />
            <VersionState isInForce={version === inForce} />
          </span>
        }
      />
      <div className="grid max-w-3xl gap-6">
        {version !== inForce && (
          <Notice tone="warning">
            <LinkedText text={words.toPresent} href={pageOfDocument(kind, inForce)} />
          </Notice>
        )}
        <article className="rounded-lg border border-line bg-surface p-5 shadow-raised sm:p-8">
          <Loaded query={document} skeleton={<Skeleton heightRem={30} />}>
            {({ text }) => <DocumentText text={withoutHeading(text, words.kinds[kind])} />}
          </Loaded>
        </article>
        <OtherVersions kind={kind} version={version} versions={versions} />
      </div>
    </>
  )
}

/** Left out because the page heading shows it. */
function withoutHeading(text: string, heading: string): string {
  return text.startsWith(`# ${heading}\n`) ? text.slice(heading.length + 2) : text
}

function OtherVersions({ kind, versions, version }: Shown) {
  const words = useWords(legalWords)
  const others = versions.filter((one) => one !== version)
  return (
    <Section title={words.otherVersions}>
      {others.length === 0 ? (
        <p className="text-muted">{words.onlyVersion}</p>
      ) : (
        <ul className="grid gap-1">
          {others.map((one) => (
            <li key={one} className="flex min-h-9 flex-wrap items-center gap-x-3">
              <TextLink href={pageOfDocument(kind, one)}>
                <VersionName version={one} />
              </TextLink>
              <VersionState isInForce={one === versions[0]} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
