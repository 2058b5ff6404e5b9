import { useRead } from '../../api/queries.ts'
import type { PageProps } from '../../app/page-group.ts'
import { useTitle } from '../../app/title.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { CodeSamples } from '../../kit/code-samples.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import type { SampleRequest } from '../../kit/sample-code.ts'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { Calculator } from './calculator.tsx'
import { Fact } from './fact.tsx'
import { modelWords } from './messages.ts'
import type { Model } from './model.ts'
import { factNames, factsOf } from './model-facts.ts'
import { Measurements, PriceHistory } from './model-history.tsx'
import { cabinetModels, pageOfModel } from './model-path.ts'
import { PricesSection } from './model-prices.tsx'

/** One model: its abilities, prices, and how to call it. */
export function ModelPage({ params }: PageProps) {
  const words = useWords(modelWords)
  const title = pageRoutes['/app/models/*'].title[useLanguage()]
  const id = params['*'] ?? ''
  const models = useRead('/models/models-with-pricing')
  return (
    <>
      <p className="mb-3 text-sm">
        <TextLink href={cabinetModels}>{words.allModels}</TextLink>
      </p>
      <Loaded query={models} heading={title} skeleton={<Skeleton heightRem={40} />}>
        {({ data }) => {
          const model = data.find((one) => one.id === id)
          return model === undefined ? <NoModel id={id} title={title} /> : <Shown model={model} />
        }}
      </Loaded>
    </>
  )
}

/** Removed, with its successor; or never there. */
function NoModel({ id, title }: { readonly id: string; readonly title: string }) {
  const words = useWords(modelWords)
  const { data } = useRead('/models/model-details', { query: { model: id } })
  const successor = data?.model === id ? data.successor : null
  const isRemoved = data?.model === id && data.removed
  return (
    <>
      <PageHead title={isRemoved ? id : title} />
      <EmptyState
        text={isRemoved ? words.removed : words.noSuchModel}
        action={
          <span className="flex flex-wrap justify-center gap-2">
            {successor !== null && (
              <ButtonLink href={pageOfModel(cabinetModels, successor)} variant="primary">
                {words.openSuccessor(successor)}
              </ButtonLink>
            )}
            <ButtonLink href={cabinetModels}>{words.openCatalog}</ButtonLink>
          </span>
        }
      />
    </>
  )
}

function Shown({ model }: { readonly model: Model }) {
  const words = useWords(modelWords)
  const details = useRead('/models/model-details', { query: { model: model.id } })
  useTitle(model.name)
  return (
    <>
      <PageHead
        title={model.name}
        {...(model.description !== '' && { lead: model.description })}
        actions={
          model.type === 'chat' && (
            <ButtonLink
              href={`/app/playground?${new URLSearchParams({ model: model.id })}`}
              variant="primary"
            >
              {words.tryIt}
            </ButtonLink>
          )
        }
      />
      <div className="grid gap-6 lg:grid-cols-2">
        <div className="grid min-w-0 content-start gap-6">
          <PricesSection model={model} />
          {details.data?.details && <PriceHistory model={model} details={details.data.details} />}
          <Calculator model={model} />
        </div>
        <div className="grid min-w-0 content-start gap-6">
          <Facts model={model} />
          <Loaded query={details} skeleton={<Skeleton heightRem={12} />}>
            {({ details: shown }) => shown && <Measurements details={shown} />}
          </Loaded>
          <CodeSection model={model} />
        </div>
      </div>
    </>
  )
}

function Facts({ model }: { readonly model: Model }) {
  const words = useWords(modelWords)
  const facts = factsOf(model, useLanguage())
  return (
    <Section title={words.facts}>
      <dl className="grid">
        <Fact name={words.id}>
          <span className="flex flex-wrap items-center justify-end gap-x-1">
            <code className="min-w-0 font-mono text-sm break-all">{model.id}</code>
            <CopyButton isCompact text={model.id} label={words.copyId(model.id)} />
          </span>
        </Fact>
        <Fact name={words.provider}>{model.provider}</Fact>
        {factNames.map((name) => (
          <Fact key={name} name={words.factNames[name]}>
            {facts[name]}
          </Fact>
        ))}
      </dl>
    </Section>
  )
}

function CodeSection({ model }: { readonly model: Model }) {
  const words = useWords(modelWords)
  const config = useRead('/config')
  return (
    <Section title={words.code} lead={words.codeLead}>
      <Loaded query={config} skeleton={<Skeleton heightRem={20} />}>
        {({ gateway_base_url }) => (
          <CodeSamples baseUrl={gateway_base_url} request={exampleOf(model, words.examplePrompt)} />
        )}
      </Loaded>
    </Section>
  )
}

function exampleOf({ id, type }: Model, prompt: string): SampleRequest {
  if (type === 'embedding') return { path: '/embeddings', body: { model: id, input: prompt } }
  return {
    path: '/chat/completions',
    body: { model: id, messages: [{ role: 'user', content: prompt }] },
  }
}
