import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge, Notice } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { LinkedText, TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { nameOfVersion } from '../../time/days.ts'
import { settingsWords } from './messages.ts'

type Consent = Answer<'GET /me/consents'>['data'][number]
type Document = Answer<'GET /config'>['documents'][number]

/** The documents that the user accepted, and their newer versions. */
export function ConsentsSection() {
  const words = useWords(settingsWords)
  const consents = useRead('/me/consents')
  const config = useRead('/config')
  return (
    <Section title={words.consents} lead={words.consentsLead} isFlush>
      <Loaded query={consents} skeleton={<SkeletonRows count={2} />}>
        {({ data }) => (
          <>
            {(config.data?.documents ?? [])
              .filter((document) => !isAccepted(document, data))
              .map((document) => (
                <div key={document.kind} className="px-5 pb-4">
                  <NewerVersion document={document} />
                </div>
              ))}
            {data.length === 0 ? <EmptyState text={words.noConsents} /> : <Consents consents={data} />}
            <p className="max-w-prose border-t border-line px-5 py-3 text-sm text-muted">
              <LinkedText text={words.withdrawHow} href="/legal/personal_data" />
            </p>
          </>
        )}
      </Loaded>
    </Section>
  )
}

/** The latest decision on a document counts; the list begins with it. */
function isAccepted({ kind, version }: Document, consents: readonly Consent[]): boolean {
  const last = consents.find((consent) => consent.kind === kind)
  return last !== undefined && last.version === version && !last.withdrawn
}

/** A newer version in force; accepted by a click after reading it. */
function NewerVersion({ document: { kind, version } }: { readonly document: Document }) {
  const words = useWords(settingsWords)
  return (
    <Notice tone="warning">
      <Form
        send={() => call('POST /me/consents', { body: { kind, version } })}
        errorsOf={({ code }) => {
          if (code === 'conflict') void readAgain('/config') // an even newer version
          return undefined
        }}
        onDone={() => {
          announce(words.accepted)
          void readAgain('/me/consents')
          void readAgain('/me')
        }}
      >
        <p>
          <LinkedText text={words.newVersion[kind]} href={`/legal/${kind}/${version}`} isNewTab />
        </p>
        <div>
          <SubmitButton variant="secondary">{words.accept}</SubmitButton>
        </div>
      </Form>
    </Notice>
  )
}

function Consents({ consents }: { readonly consents: readonly Consent[] }) {
  const words = useWords(settingsWords)
  const language = useLanguage()
  const columns: readonly Column<Consent>[] = [
    {
      id: 'document',
      head: words.document,
      cell: ({ kind, version }) => (
        <TextLink href={`/legal/${kind}/${version}`}>{words.documents[kind]}</TextLink>
      ),
    },
    {
      id: 'version',
      head: words.version,
      cell: ({ version }) => words.versionOf(nameOfVersion(version, language)),
    },
    {
      id: 'at',
      head: words.acceptedAt,
      cell: ({ at, withdrawn }) =>
        withdrawn ? <Badge tone="warning">{words.withdrawn}</Badge> : <DateTime at={at} />,
    },
  ]
  return (
    <Table
      caption={words.consents}
      columns={columns}
      rows={consents}
      keyOf={({ kind, version, at }) => `${kind} ${version} ${at}`}
    />
  )
}
