import { type ReactNode, useDeferredValue } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import { ApiProblem } from '../../api/problem.ts'
import { useRead } from '../../api/queries.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed, useMay, useMe } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { CodeSamples } from '../../kit/code-samples.tsx'
import { EmptyState, ErrorState, Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { Composer } from './composer.tsx'
import { requestOf, type Settings } from './conversation.ts'
import { ConversationLog } from './conversation-log.tsx'
import type { Conversation, ConversationState } from './conversation-store.ts'
import { playgroundWords } from './messages.ts'
import { type Model, SettingsForm, type TypedSettings } from './settings-form.tsx'
import { readMaxTokens, readTemperature } from './typed-options.ts'
import { useConversation } from './use-conversation.ts'

/** For trying a model out. Questions and answers stay in the memory of this tab until it is reloaded. */
export function PlaygroundPage() {
  const words = useWords(playgroundWords)
  const title = pageRoutes['/app/playground'].title[useLanguage()]
  const models = useRead('/models/models-with-pricing')
  const config = useRead('/config')
  const me = useMe().data
  const mayMakeKeys = useMay('keys.write')
  const isConfirmed = useIsConfirmed()
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      {what()}
    </>
  )

  function what(): ReactNode {
    if (!mayMakeKeys) return <ErrorState problem={new ApiProblem({ code: 'forbidden', status: 403 })} />
    if (!isConfirmed) return <ConfirmFirst />
    if (me === undefined) return <Skeleton heightRem={36} />
    const owner = `${me.id} ${me.organization?.id}`
    return (
      <Loaded query={models} skeleton={<Skeleton heightRem={36} />}>
        {({ data }) => (
          <Loaded query={config} skeleton={<Skeleton heightRem={36} />}>
            {({ gateway_base_url }) => (
              <Playground
                owner={owner}
                baseUrl={gateway_base_url}
                models={data.filter(({ type }) => type === 'chat')}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    )
  }
}

function Playground({
  owner,
  baseUrl,
  models,
}: {
  readonly owner: string
  readonly baseUrl: string
  readonly models: readonly Model[]
}) {
  const words = useWords(playgroundWords)
  const { conversation, state } = useConversation(owner, baseUrl)
  const { draft, isRunning } = state
  const model = useModelOfAddress(models, state.typed.model)
  const typed = { ...state.typed, model }
  const settings = findSettings(typed)
  if (models.length === 0)
    return (
      <EmptyState
        text={words.noModels}
        action={<ButtonLink href="/app/models">{words.catalog}</ButtonLink>}
      />
    )

  function ask(): void {
    if (settings === undefined || draft.trim() === '' || isRunning) return
    conversation.ask(settings, draft)
    conversation.type({ draft: '' })
  }

  function change(changes: Partial<TypedSettings>): void {
    conversation.type({ typed: { ...typed, ...changes } })
    if (changes.model !== undefined) putModelIntoAddress(changes.model)
  }

  return (
    <div className="grid items-start gap-6 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <SettingsForm models={models} typed={typed} onChange={change} />
      <div className="grid min-w-0 gap-6">
        <Talk conversation={conversation} state={state} settings={settings}>
          <Composer
            draft={draft}
            isRunning={isRunning}
            isReady={settings !== undefined}
            onChange={(changed) => conversation.type({ draft: changed })}
            onAsk={ask}
            onStop={conversation.stop}
          />
        </Talk>
        <SameInCode baseUrl={baseUrl} state={state} settings={settings} />
      </div>
    </div>
  )
}

/**
 * The model is in the address, so that the catalog can link here. Without one, it is the last one of the conversation;
 * an unknown name means the first model.
 */
function useModelOfAddress(models: readonly Model[], last: string): string {
  const asked = new URLSearchParams(useSearch()).get('model') ?? last
  return (models.find(({ id }) => id === asked) ?? models[0])?.id ?? ''
}

function putModelIntoAddress(model: string): void {
  navigate(`${location.pathname}?${new URLSearchParams({ model })}`, { replace: true })
}

/** `undefined`: a typed value is wrong. Pure. */
function findSettings({ model, system, ...typed }: TypedSettings): Settings | undefined {
  const temperature = readTemperature(typed.temperature)
  const maxTokens = readMaxTokens(typed.maxTokens)
  return temperature === 'wrong' || maxTokens === 'wrong'
    ? undefined
    : { model, system, temperature, maxTokens }
}

function Talk({
  conversation: { retry, clear },
  state: { exchanges, isRunning },
  settings,
  children,
}: {
  readonly conversation: Conversation
  readonly state: ConversationState
  readonly settings: Settings | undefined
  readonly children: ReactNode
}) {
  const words = useWords(playgroundWords)
  return (
    <Section
      title={words.conversation}
      actions={
        exchanges.length > 0 && (
          <Button variant="quiet" size="small" onClick={clear}>
            {words.clear}
          </Button>
        )
      }
    >
      <div className="grid gap-6">
        {exchanges.length === 0 ? (
          <p className="text-center text-muted md:py-6">{words.nothingYet}</p>
        ) : (
          <ConversationLog
            exchanges={exchanges}
            isRunning={isRunning}
            onRetry={settings && (() => retry(settings))}
          />
        )}
        {children}
      </div>
    </Section>
  )
}

/** What a program would send now: the draft, else the last question again. */
function SameInCode({
  baseUrl,
  state: { exchanges, draft },
  settings,
}: {
  readonly baseUrl: string
  readonly state: ConversationState
  readonly settings: Settings | undefined
}) {
  const words = useWords(playgroundWords)
  const question = useDeferredValue(draft)
  if (settings === undefined) return null
  const isTyped = question.trim() !== ''
  const last = exchanges.at(-1)
  const body = isTyped
    ? requestOf(settings, exchanges, question)
    : requestOf(settings, exchanges.slice(0, -1), last?.question ?? words.exampleQuestion)
  return (
    <Section title={words.code} lead={words.codeLead}>
      <CodeSamples baseUrl={baseUrl} request={{ path: '/chat/completions', body }} />
    </Section>
  )
}
