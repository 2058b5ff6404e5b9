import { useState } from 'react'
import { useTitle } from '../../app/title.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { type Answer, useReadVersioned } from '../calls.ts'
import type { PageProps } from '../page-props.ts'
import {
  addressOfProvider,
  type Model,
  type Pricing,
  ReadOnlyNotice,
  SpecSection,
  Troubles,
} from './catalog-parts.tsx'
import { HistorySection } from './history-section.tsx'
import { catalogAdminWords } from './messages.ts'
import { ModelSpecDialog } from './spec-dialog.tsx'

/** One model: its prices, its backends as gateways report them, and its spec. */
export function ModelPage({ params }: PageProps) {
  const name = params['*'] ?? ''
  const model = useReadVersioned('/admin/models/:model', { params: { model: name } })
  useTitle(name)
  return (
    <>
      <PageHead title={name} {...(model.data !== undefined && { lead: model.data.body.display_name })} />
      <Loaded query={model} skeleton={<Skeleton heightRem={40} />}>
        {({ body, etag }) => <Shown model={body} etag={etag} />}
      </Loaded>
    </>
  )
}

function Shown({
  model,
  etag,
}: {
  readonly model: Answer<'GET /admin/models/:model'>
  readonly etag: string | undefined
}) {
  const words = useWords(catalogAdminWords)
  const [isChanging, setChanging] = useState(false)
  return (
    <div className="grid gap-6">
      <ReadOnlyNotice {...model} />
      <PricesSection {...model} />
      <HistorySection model={model} etag={etag} />
      <BackendsSection {...model} />
      <SpecSection
        lead={words.modelSpecLead}
        spec={model.spec}
        {...(model.kubernetes === null && {
          actions: (
            <Button size="small" onClick={() => setChanging(true)}>
              {words.changeSpec}
            </Button>
          ),
        })}
      />
      {isChanging && (
        <ModelSpecDialog
          changed={{ name: model.model, spec: model.spec, etag }}
          onClose={() => setChanging(false)}
        />
      )}
    </div>
  )
}

const parts = ['input', 'cached_input', 'cache_write', 'output', 'reasoning', 'per_request'] as const
type Part = (typeof parts)[number]

function PricesSection({ free, pricing, next_pricing, next_pricing_from }: Model) {
  const words = useWords(catalogAdminWords)
  const names: Readonly<Record<Part, string>> = {
    input: words.input,
    cached_input: words.cachedInput,
    cache_write: words.cacheWrite,
    output: words.output,
    reasoning: words.reasoning,
    per_request: words.perRequest,
  }
  const amount = (of: Pricing | null, part: Part) => {
    const rubles = of?.[part] ?? null
    return rubles === null ? null : <Money rubles={rubles} isExact />
  }
  const columns: readonly Column<Part>[] = [
    { id: 'what', head: words.what, cell: (part) => names[part] },
    { id: 'price', head: words.price, isNumber: true, cell: (part) => amount(pricing, part) },
    ...(next_pricing === null
      ? []
      : [
          {
            id: 'next',
            head: words.nextPrice,
            isNumber: true,
            cell: (part: Part) => amount(next_pricing, part),
          },
        ]),
  ]
  return (
    <Section
      title={words.prices}
      {...(next_pricing_from !== null && {
        lead: (
          <>
            {words.nextPrice}: <DateTime at={next_pricing_from} />
          </>
        ),
      })}
      isFlush
    >
      {free || pricing === null ? (
        <p className="px-5 pb-5">{free ? words.free : words.noPrice}</p>
      ) : (
        <Table caption={words.prices} columns={columns} rows={parts} keyOf={(part) => part} />
      )}
    </Section>
  )
}

type Backend = Model['backends'][number]

function BackendsSection({ backends }: Model) {
  const words = useWords(catalogAdminWords)
  const columns: readonly Column<Backend>[] = [
    { id: 'backend', head: words.backend, cell: ({ name }) => name },
    {
      id: 'provider',
      head: words.provider,
      cell: ({ provider }) => <TextLink href={addressOfProvider(provider)}>{provider}</TextLink>,
    },
    { id: 'model', head: words.model, cell: ({ model }) => <code className="break-all">{model}</code> },
    {
      id: 'priority',
      head: words.priority,
      isNumber: true,
      cell: ({ priority, weight }) => `${priority} / ${weight}`,
    },
    {
      id: 'health',
      head: words.health,
      cell: ({ provider_exists, troubles }) =>
        provider_exists ? <Troubles troubles={troubles} /> : <Badge tone="danger">{words.noProvider}</Badge>,
    },
  ]
  return (
    <Section title={words.backends} isFlush>
      <Table caption={words.backends} columns={columns} rows={backends} keyOf={({ name }) => name} />
    </Section>
  )
}
