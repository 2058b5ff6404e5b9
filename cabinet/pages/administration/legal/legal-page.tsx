import { administrationRoutes } from '../../administration-routes.ts'
import { textOf } from '../../features/entry/checks.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { DownloadLink } from '../../kit/download-link.tsx'
import { DateField, SelectField, TextArea, TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { nameOfVersion } from '../../time/days.ts'
import { type Answer, call, readAgain, useRead } from '../calls.ts'
import { legalAdminWords } from './messages.ts'

/** Versions of the legal documents, a form for a new one, and who accepted which. */
export function LegalPage() {
  const words = useWords(legalAdminWords)
  return (
    <>
      <PageHead title={administrationRoutes['/app/legal'].title[useLanguage()]} lead={words.lead} />
      <div className="grid max-w-4xl gap-6">
        <VersionsSection />
        <PublishSection />
        <ConsentsSection />
      </div>
    </>
  )
}

type Version = Answer<'GET /admin/legal/documents'>['data'][number]
const tones = { upcoming: 'accent', in_force: 'success', outdated: 'neutral' } as const

function VersionsSection() {
  const words = useWords(legalAdminWords)
  const language = useLanguage()
  const documents = useRead('/admin/legal/documents')
  const columns: readonly Column<Version>[] = [
    { id: 'document', head: words.document, cell: ({ kind }) => words.kinds[kind] },
    { id: 'day', head: words.day, cell: ({ version }) => nameOfVersion(version, language) },
    {
      id: 'state',
      head: words.state,
      cell: ({ state }) => <Badge tone={tones[state]}>{words.states[state]}</Badge>,
    },
  ]
  return (
    <Section title={words.versions} isFlush>
      <Loaded query={documents} skeleton={<SkeletonRows count={2} />}>
        {({ data }) => (
          <Table
            caption={words.versions}
            columns={columns}
            rows={data.filter(({ locale }) => locale === language)}
            keyOf={({ kind, version }) => `${kind} ${version}`}
          />
        )}
      </Loaded>
    </Section>
  )
}

const kinds = ['offer', 'personal_data', 'saved_card'] as const
const names = ['version', 'texts.ru', 'texts.en', 'reason'] as const

function PublishSection() {
  const words = useWords(legalAdminWords)
  return (
    <Section title={words.publish} lead={words.publishLead}>
      <Form
        check={(values) =>
          Object.fromEntries(names.map((name) => [name, missing(values, name, words.missing)]))
        }
        send={publish}
        onDone={() => {
          announce(words.published)
          void readAgain('/admin/legal/documents')
        }}
      >
        <SelectField name="kind" label={words.document}>
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {words.kinds[kind]}
            </option>
          ))}
        </SelectField>
        <DateField name="version" label={words.day} hint={words.dayHint} />
        <TextArea name="texts.ru" label={words.textRu} rows={8} lang="ru" />
        <TextArea name="texts.en" label={words.textEn} rows={8} lang="en" />
        <TextField name="reason" label={words.reason} hint={words.reasonHint} autoComplete="off" />
        <SubmitButton>{words.send}</SubmitButton>
      </Form>
    </Section>
  )
}

function missing(values: FormData, name: string, message: string): string | undefined {
  return textOf(values, name).trim() === '' ? message : undefined
}

function publish(values: FormData) {
  const kind = kinds.find((one) => one === textOf(values, 'kind')) ?? 'offer'
  const texts = { ru: textOf(values, 'texts.ru'), en: textOf(values, 'texts.en') }
  const body = { kind, version: textOf(values, 'version'), texts, reason: textOf(values, 'reason') } as const
  return call('POST /admin/legal/documents', { body })
}

type Consent = Answer<'GET /admin/consents'>['data'][number]

function ConsentsSection() {
  const words = useWords(legalAdminWords)
  const consents = useRead('/admin/consents')
  return (
    <Section
      title={words.consents}
      lead={words.consentsLead}
      actions={<DownloadLink href="/api/v1/admin/consents.csv">{words.csv}</DownloadLink>}
      isFlush
    >
      <Loaded query={consents} skeleton={<SkeletonRows count={5} />}>
        {({ data }) => (data.length === 0 ? <EmptyState text={words.none} /> : <Consents consents={data} />)}
      </Loaded>
    </Section>
  )
}

function Consents({ consents }: { readonly consents: readonly Consent[] }) {
  const words = useWords(legalAdminWords)
  const language = useLanguage()
  const columns: readonly Column<Consent>[] = [
    { id: 'at', head: words.at, cell: ({ at }) => <DateTime at={at} /> },
    { id: 'user', head: words.user, cell: ({ email }) => <span className="break-all">{email}</span> },
    { id: 'document', head: words.document, cell: ({ kind }) => words.kinds[kind] },
    {
      id: 'day',
      head: words.day,
      cell: ({ version, withdrawn }) =>
        withdrawn ? <Badge tone="warning">{words.withdrawn}</Badge> : nameOfVersion(version, language),
    },
    { id: 'address', head: words.address, cell: ({ address }) => address },
  ]
  return <Table caption={words.consents} columns={columns} rows={consents} keyOf={({ id }) => id} />
}
