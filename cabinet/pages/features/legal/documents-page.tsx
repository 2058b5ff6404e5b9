import { useLanguage, useWords } from '../../i18n/language.ts'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { pageOfDocument, useDocuments } from './documents.ts'
import { legalWords } from './messages.ts'
import { VersionName, VersionState } from './version-name.tsx'

/** The documents that users accept, each with all its versions. */
export function DocumentsPage() {
  const words = useWords(legalWords)
  const title = pageRoutes['/legal'].title[useLanguage()]
  const documents = useDocuments()
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      <Loaded query={documents} skeleton={<Skeleton heightRem={16} />}>
        {(all) =>
          all.length === 0 ? (
            <EmptyState text={words.none} />
          ) : (
            <div className="grid max-w-3xl gap-6">
              {all.map(({ kind, versions }) => (
                <Section key={kind} title={words.kinds[kind]}>
                  <ul className="grid gap-1">
                    {versions.map(({ version, state }) => (
                      <li key={version} className="flex min-h-9 flex-wrap items-center gap-x-3">
                        <TextLink href={pageOfDocument(kind, version)}>
                          <VersionName version={version} />
                        </TextLink>
                        <VersionState state={state} />
                      </li>
                    ))}
                  </ul>
                </Section>
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  )
}
