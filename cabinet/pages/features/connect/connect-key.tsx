import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { mayUse } from '../keys/first-request.ts'
import { FirstRequestCode } from '../keys/first-request-code.tsx'
import { ConnectPanel } from './connect-panel.tsx'

/** Ready configurations with a secret that is shown only now, for the models that its key may use. */
export function ConnectKey({
  secret,
  allowed,
}: {
  readonly secret: string
  readonly allowed: readonly string[] | null
}) {
  const models = useRead('/models/models-with-pricing')
  const config = useRead('/config')
  const [asked, setAsked] = useState({ client: '', model: '' })
  return (
    <Loaded query={models} skeleton={<Skeleton heightRem={22} />}>
      {({ data }) => {
        const usable = data.filter(({ type, id }) => type === 'chat' && mayUse(allowed, id))
        if (usable.length === 0) return <FirstRequestCode secret={secret} allowed={allowed} />
        return (
          <Loaded query={config} skeleton={<Skeleton heightRem={22} />}>
            {({ gateway_base_url }) => (
              <ConnectPanel
                baseUrl={gateway_base_url}
                models={usable}
                secret={secret}
                asked={asked}
                onChoose={setAsked}
              />
            )}
          </Loaded>
        )
      }}
    </Loaded>
  )
}
