import type { ReactNode } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Badge, Notice } from '../../kit/badge.tsx'
import { CodeBlock } from '../../kit/code-block.tsx'
import { FilterBar, TextFilter } from '../../kit/filter-fields.tsx'
import { Section } from '../../kit/section.tsx'
import type { Answer } from '../calls.ts'
import { catalogAdminWords } from './messages.ts'

export type Model = Answer<'GET /admin/models'>['data'][number]
export type Provider = Answer<'GET /admin/providers'>['data'][number]
export type Pricing = NonNullable<Model['pricing']>

/** The pages of a model and of a provider; a name may contain slashes. */
export const addressOfModel = (model: string) => `/app/models/${model}`
export const addressOfProvider = (provider: string) => `/app/providers/${provider}`

/** Finds models or providers by a part of their name. */
export function NameFilter({
  value,
  onChange,
}: {
  readonly value: string | undefined
  readonly onChange: (name: string | undefined) => void
}) {
  const words = useWords(catalogAdminWords)
  return (
    <FilterBar setCount={value === undefined ? 0 : 1}>
      <TextFilter name="name" label={words.filter} value={value} onChange={onChange} />
    </FilterBar>
  )
}

/** Where a model or provider is changed. */
export function Owner({ kubernetes }: Pick<Model, 'kubernetes'>) {
  const words = useWords(catalogAdminWords)
  if (kubernetes === null) return words.here
  const { cluster, namespace, name } = kubernetes
  return <span className="break-all">{words.cluster(cluster, `${namespace}/${name}`)}</span>
}

/** Shown for objects of clusters, which cannot be changed here. */
export function ReadOnlyNotice({ kubernetes }: Pick<Model, 'kubernetes'>) {
  const words = useWords(catalogAdminWords)
  if (kubernetes === null) return null
  return (
    <Notice tone="accent">
      {words.readOnly} <Owner kubernetes={kubernetes} />
    </Notice>
  )
}

/** Problems that gateways report. */
export function Troubles({ troubles }: { readonly troubles: readonly string[] }) {
  const words = useWords(catalogAdminWords)
  if (troubles.length === 0) return <Badge tone="success">{words.healthy}</Badge>
  return <Badge tone="danger">{words.reports(troubles.length, [...new Set(troubles)].join(', '))}</Badge>
}

/** A spec as JSON. */
export function SpecSection({
  lead,
  spec,
  actions,
}: {
  readonly lead: string
  readonly spec: unknown
  readonly actions?: ReactNode
}) {
  const words = useWords(catalogAdminWords)
  return (
    <Section title={words.spec} lead={lead} actions={actions}>
      <CodeBlock code={JSON.stringify(spec, null, 2)} label={words.spec} />
    </Section>
  )
}
