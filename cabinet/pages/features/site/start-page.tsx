import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { CodeBlock } from '../../kit/code-block.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { curlOf } from '../../kit/sample-code.ts'
import { Section } from '../../kit/section.tsx'
import { Skeleton, SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles } from '../../money/rubles.ts'
import { pageRoutes } from '../../page-routes.ts'
import { addressIn } from '../../public-addresses.ts'
import { siteWords } from './messages.ts'

type Model = Answer<'GET /models/models-with-pricing'>['data'][number]

/** For first-time visitors: what this is, what it costs, and how to try it. */
export function StartPage() {
  return (
    <div className="grid gap-12 sm:pt-6">
      <div className="grid items-center gap-8 lg:grid-cols-2">
        <Welcome />
        <FirstRequest />
      </div>
      <Reasons />
      <SomeModels />
    </div>
  )
}

function Welcome() {
  const words = useWords(siteWords)
  const language = useLanguage()
  const title = pageRoutes['/'].title[language]
  return (
    <div className="grid min-w-0 gap-5">
      <h1 className="text-3xl">{title}</h1>
      <p className="max-w-prose text-lg text-muted">{words.lead}</p>
      <div className="flex flex-wrap gap-3">
        <ButtonLink href="/register" variant="primary">
          {words.register}
        </ButtonLink>
        <ButtonLink href={addressIn(language, '/models')}>{words.catalog}</ButtonLink>
      </div>
      <LowestPrice />
    </div>
  )
}

/** Its space is reserved: content below must not move when it arrives. */
function LowestPrice() {
  const words = useWords(siteWords)
  const models = useRead('/models/models-with-pricing')
  const lowest = models.data?.data.filter(isPaidChat).map(({ pricing }) => pricing.input)
  const [price] = lowest?.toSorted(compareRubles) ?? []
  return (
    <p className="min-h-6 text-muted">
      {price !== undefined && (
        <>
          {words.priceFrom} <Money rubles={price} isExact /> {words.perMillion}
        </>
      )}
    </p>
  )
}

function isPaidChat({ type, free }: Model): boolean {
  return type === 'chat' && !free
}

function FirstRequest() {
  const words = useWords(siteWords)
  const config = useRead('/config')
  const models = useRead('/models/models-with-pricing')
  return (
    <div className="min-h-[19rem] min-w-0">
      <Loaded query={config} skeleton={<Skeleton heightRem={19} />}>
        {({ gateway_base_url }) => (
          <Loaded query={models} skeleton={<Skeleton heightRem={19} />}>
            {({ data }) => (
              <CodeBlock
                label={words.firstRequest}
                code={curlOf(gateway_base_url, {
                  path: '/chat/completions',
                  body: {
                    model: data.find(({ type }) => type === 'chat')?.id ?? '…',
                    messages: [{ role: 'user', content: words.examplePrompt }],
                  },
                })}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </div>
  )
}

function Reasons() {
  const words = useWords(siteWords)
  return (
    <section aria-label={words.reasonsTitle} className="grid gap-6 md:grid-cols-3">
      {words.reasons.map(({ title, text }) => (
        <div key={title} className="grid content-start gap-2">
          <h2 className="text-lg">{title}</h2>
          <p className="text-muted">{text}</p>
        </div>
      ))}
    </section>
  )
}

const shownModels = 6

function SomeModels() {
  const words = useWords(siteWords)
  const language = useLanguage()
  const models = useRead('/models/models-with-pricing')
  return (
    <Section
      title={words.modelsTitle}
      lead={words.modelsLead}
      actions={<TextLink href={addressIn(language, '/models')}>{words.allModels}</TextLink>}
      isFlush
    >
      <Loaded query={models} skeleton={<SkeletonRows count={4} />}>
        {({ data }) => (
          <ModelPrices models={data.filter(({ type }) => type === 'chat').slice(0, shownModels)} />
        )}
      </Loaded>
    </Section>
  )
}

function ModelPrices({ models }: { readonly models: readonly Model[] }) {
  const words = useWords(siteWords)
  if (models.length === 0) return <EmptyState text={words.noModels} />
  const columns: readonly Column<Model>[] = [
    {
      id: 'model',
      head: words.model,
      cell: ({ id, name }) => <TextLink href={`/models/${id}`}>{name}</TextLink>,
    },
    ...(['input', 'output'] as const).map((id) => ({
      id,
      head: words[id],
      isNumber: true,
      cell: ({ free, pricing }: Model) => (free ? words.free : <Money rubles={pricing[id]} isExact />),
    })),
  ]
  return <Table caption={words.modelsTitle} columns={columns} rows={models} keyOf={({ id }) => id} />
}
