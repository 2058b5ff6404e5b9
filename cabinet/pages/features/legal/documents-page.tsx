import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { useLanguage, useWords } from '../../words/language.ts'
import { legalWords } from '../../words/legal.ts'
import { pageOfDocument, useDocuments } from './documents.ts'
import { VersionName, VersionState } from './version-name.tsx'

/** What people agree to, each with all of its versions. */
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
                    {versions.map((version, index) => (
                      <li key={version} className="flex min-h-9 flex-wrap items-center gap-x-3">
                        <TextLink href={pageOfDocument(kind, version)}>
                          <VersionName version={version} />
                        </TextLink>
                        <VersionState isInForce={index === 0} />
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
