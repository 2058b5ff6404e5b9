import type { ReactNode } from 'react'
import type { Answer } from '../../api/calls.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed, useMay } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { CodeBlock } from '../../kit/code-block.tsx'
import { Combobox } from '../../kit/combobox.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { EmptyState } from '../../kit/loaded.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { connectWords } from './messages.ts'
import {
  type ConnectClientId,
  type ConnectGroup,
  connectClientIds,
  connectClients,
  type SnippetPart,
} from './snippets.ts'
import { TestRequest } from './test-request.tsx'

type Model = Answer<'GET /models/models-with-pricing'>['data'][number]

/** What the user chose: an unknown client or model means the first one. */
export type Choice = { readonly client: string; readonly model: string }

const placeholder = 'sk-gateway-…'

/**
 * The configuration of a client for a model, and a request that tests the model.
 *
 * @param secret of a key that was just created; `undefined`: a placeholder.
 */
export function ConnectPanel({
  baseUrl,
  models,
  secret,
  asked,
  onChoose,
}: {
  readonly baseUrl: string
  readonly models: readonly Model[]
  readonly secret: string | undefined
  readonly asked: Choice
  readonly onChoose: (choice: Choice) => void
}) {
  const words = useWords(connectWords)
  const client = connectClientIds.find((id) => id === asked.client) ?? 'curl'
  const model = (models.find(({ id }) => id === asked.model) ?? models[0])?.id
  if (model === undefined)
    return (
      <EmptyState
        text={words.noModels}
        action={<ButtonLink href="/app/models">{words.catalog}</ButtonLink>}
      />
    )
  const parts = connectClients[client].partsOf({
    baseUrl,
    key: secret ?? placeholder,
    model,
    prompt: words.prompt,
  })
  return (
    <div className="grid min-w-0 gap-5">
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <ClientField chosen={client} onChoose={(chosen) => onChoose({ client: chosen, model })} />
        <Combobox
          name="model"
          label={words.model}
          choices={models.map(({ id, name }) => ({ value: id, label: name }))}
          value={model}
          onChoose={(chosen) => onChoose({ client, model: chosen })}
        />
      </div>
      <Notes client={client} hasSecret={secret !== undefined} />
      {parts.map((part) => (
        <Part key={`${client} ${part.kind === 'file' ? part.name : part.kind}`} part={part} />
      ))}
      <Test key={model} baseUrl={baseUrl} model={model} />
    </div>
  )
}

const groups: readonly ConnectGroup[] = ['api', 'sdk', 'framework', 'agent', 'app']

function ClientField({
  chosen,
  onChoose,
}: {
  readonly chosen: ConnectClientId
  readonly onChoose: (client: string) => void
}) {
  const words = useWords(connectWords)
  return (
    <SelectField
      name="client"
      label={words.client}
      value={chosen}
      onChange={(event) => onChoose(event.target.value)}
    >
      {groups.map((group) => (
        <optgroup key={group} label={words.groups[group]}>
          {connectClientIds
            .filter((id) => connectClients[id].group === group)
            .map((id) => (
              <option key={id} value={id}>
                {connectClients[id].name}
              </option>
            ))}
        </optgroup>
      ))}
    </SelectField>
  )
}

function Notes({
  client,
  hasSecret,
}: {
  readonly client: ConnectClientId
  readonly hasSecret: boolean
}): ReactNode {
  const words = useWords(connectWords)
  const mayMakeKeys = useMay('keys.write')
  const note = words.noteOf(client)
  return (
    <>
      {!hasSecret && mayMakeKeys && (
        <p className="text-muted">
          <LinkedText text={words.replaceKey} href="/app/keys?new" />
        </p>
      )}
      {note !== undefined && <p>{note}</p>}
    </>
  )
}

function Part({ part }: { readonly part: SnippetPart }) {
  const words = useWords(connectWords)
  if (part.kind !== 'fields')
    return <CodeBlock code={part.code} label={part.kind === 'file' ? part.name : words[part.kind]} />
  return (
    <dl aria-label={words.fields} className="grid rounded-md border border-line">
      {part.fields.map(([name, value]) => (
        <div
          key={name}
          className="flex flex-wrap items-center justify-between gap-x-4 border-b border-line px-4 py-1 last:border-b-0"
        >
          <dt className="text-sm text-muted">{name}</dt>
          <dd className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 font-mono text-sm break-all">{value}</code>
            <CopyButton isCompact text={value} label={words.copyField(name)} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Only for users who may create the short-lived key that pays for it. */
function Test({ baseUrl, model }: { readonly baseUrl: string; readonly model: string }): ReactNode {
  const isConfirmed = useIsConfirmed()
  if (!useMay('keys.write')) return null
  return isConfirmed ? <TestRequest baseUrl={baseUrl} model={model} /> : <ConfirmFirst />
}
