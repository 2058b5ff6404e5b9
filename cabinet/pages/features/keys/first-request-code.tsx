import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { CodeBlock } from '../../kit/code-block.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { firstRequest } from './first-request.ts'
import { keyWords } from './messages.ts'

/** The command of a first request, ready to copy. */
export function FirstRequestCode({
  secret,
  allowed,
}: {
  readonly secret: string
  readonly allowed: readonly string[] | null
}) {
  const words = useWords(keyWords)
  const config = useRead('/config')
  const models = useRead('/models/models-with-pricing')
  return (
    <Loaded query={config} skeleton={<Skeleton heightRem={11} />}>
      {({ gateway_base_url: baseUrl }) => (
        <Loaded query={models} skeleton={<Skeleton heightRem={11} />}>
          {({ data }) => (
            <CodeBlock
              label={words.firstRequest}
              code={firstRequest({ baseUrl, secret, models: data, allowed, greeting: words.greeting })}
            />
          )}
        </Loaded>
      )}
    </Loaded>
  )
}
