import { navigate, useSearch } from 'wouter/use-browser-location'
import { useRead } from '../../api/queries.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { type Choice, ConnectPanel } from './connect-panel.tsx'
import { connectWords } from './messages.ts'

/** Ready configurations. The client and the model are in the address, so that other pages can link here. */
export function ConnectPage() {
  const words = useWords(connectWords)
  const title = pageRoutes['/app/connect'].title[useLanguage()]
  const models = useRead('/models/models-with-pricing')
  const config = useRead('/config')
  const asked = new URLSearchParams(useSearch())
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      <Loaded query={models} skeleton={<Skeleton heightRem={36} />}>
        {({ data }) => (
          <Loaded query={config} skeleton={<Skeleton heightRem={36} />}>
            {({ gateway_base_url }) => (
              <Section title={words.configuration}>
                <ConnectPanel
                  baseUrl={gateway_base_url}
                  models={data.filter(({ type }) => type === 'chat')}
                  secret={undefined}
                  asked={{ client: asked.get('client') ?? '', model: asked.get('model') ?? '' }}
                  onChoose={putIntoAddress}
                />
              </Section>
            )}
          </Loaded>
        )}
      </Loaded>
    </>
  )
}

function putIntoAddress({ client, model }: Choice): void {
  navigate(`${location.pathname}?${new URLSearchParams({ client, model })}`, { replace: true })
}
