import { asProblem } from '../../api/problem.ts'
import { goToLogin } from '../../navigation/sign-in-again.ts'
import { type Exchange, newExchange, requestOf, type Settings } from './conversation.ts'
import { type ChatEvent, type ChatRequest, streamChat } from './gateway-call.ts'
import { createPlaygroundKey, type PlaygroundKey } from './playground-key.ts'
import type { TypedSettings } from './settings-form.tsx'

/** What users see of a conversation, and what they have typed for it. */
export type ConversationState = {
  readonly exchanges: readonly Exchange[]
  readonly isRunning: boolean
  readonly draft: string
  /** The model is empty until one is chosen. */
  readonly typed: TypedSettings
}

/** A conversation with a model. It goes on while its page is not shown. */
export type Conversation = {
  read(): ConversationState
  /** @returns a function that ends the calls of `onChange`. */
  subscribe(onChange: () => void): () => void
  /** Keeps what is typed. */
  type(changes: Partial<Pick<ConversationState, 'draft' | 'typed'>>): void
  /** Asks unless an answer is in progress. */
  ask(settings: Settings, question: string): void
  /** Asks the last question again and replaces its result. */
  retry(settings: Settings): void
  stop(): void
  clear(): void
}

/** Error codes after which a new key may work: this one has expired, or a newer one replaced it. */
const endedKey: ReadonlySet<string> = new Set(['expired_api_key', 'invalid_api_key'])

const beginning: ConversationState = {
  exchanges: [],
  isRunning: false,
  draft: '',
  typed: { model: '', system: '', temperature: '', maxTokens: '' },
}

/** A conversation that is only in memory. */
export function createConversation(baseUrl: string): Conversation {
  const key = createPlaygroundKey()
  const listeners = new Set<() => void>()
  let state = beginning
  let running: AbortController | undefined
  let nextId = 0

  function set(changes: Partial<ConversationState>): void {
    state = { ...state, ...changes }
    for (const listener of listeners) listener()
  }

  function change(id: number, changes: (exchange: Exchange) => Partial<Exchange>): void {
    set({ exchanges: state.exchanges.map((one) => (one.id === id ? { ...one, ...changes(one) } : one)) })
  }

  async function run(before: readonly Exchange[], settings: Settings, question: string): Promise<void> {
    if (running !== undefined) return
    const controller = new AbortController()
    running = controller
    const exchange = newExchange(nextId++, question)
    set({ exchanges: [...before, exchange], isRunning: true })
    const painter = paintOncePerFrame((text) =>
      change(exchange.id, ({ answer }) => ({ answer: answer + text })),
    )
    try {
      const request = requestOf(settings, before, question)
      const failed = await follow({ baseUrl, key, request, signal: controller.signal }, (event) => {
        if (event.kind === 'text') painter.add(event.text)
        else change(exchange.id, () => changesOf(event))
      })
      painter.finish()
      change(exchange.id, () => ({ state: failed ? 'failed' : 'done' }))
    } catch (error) {
      painter.finish()
      if (controller.signal.aborted) return change(exchange.id, () => ({ state: 'stopped' }))
      const problem = asProblem(error)
      if (problem.code === 'unauthenticated') goToLogin()
      change(exchange.id, () => ({ state: 'failed', problem }))
    } finally {
      running = undefined
      set({ isRunning: false })
    }
  }

  return {
    read: () => state,
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    type: set,
    ask: (settings, question) => void run(state.exchanges, settings, question),
    retry(settings) {
      const last = state.exchanges.at(-1)
      if (last !== undefined) void run(state.exchanges.slice(0, -1), settings, last.question)
    },
    stop: () => running?.abort(),
    clear() {
      running?.abort()
      set({ exchanges: [] })
    },
  }
}

type Call = {
  readonly baseUrl: string
  readonly key: PlaygroundKey
  readonly request: ChatRequest
  readonly signal: AbortSignal
}

/**
 * Reads one answer. If the key has ended, a new one is tried once.
 *
 * @returns whether it failed. @throws ApiProblem, or AbortError when it was stopped
 */
async function follow(call: Call, onEvent: (event: ChatEvent) => void, isRetry = false): Promise<boolean> {
  const { baseUrl, key, request, signal } = call
  const secret = await key.secret()
  signal.throwIfAborted()
  for await (const event of streamChat({ baseUrl, secret, request, signal })) {
    if (event.kind === 'failed' && endedKey.has(event.failure.code)) {
      key.forget()
      if (!isRetry) return follow(call, onEvent, true)
    }
    onEvent(event)
    if (event.kind === 'failed') return true
  }
  return false
}

function changesOf(event: Exclude<ChatEvent, { readonly kind: 'text' }>): Partial<Exchange> {
  if (event.kind === 'accepted') return { isAccepted: true, requestId: event.requestId }
  if (event.kind === 'billed') return { bill: event.bill }
  return { failure: event.failure, requestId: event.failure.requestId }
}

/** Joins the text that arrives between two frames: a fast model outpaces the screen. */
function paintOncePerFrame(paint: (text: string) => void) {
  let waiting = ''
  let frame: number | undefined
  function finish(): void {
    if (frame !== undefined) cancelAnimationFrame(frame)
    frame = undefined
    if (waiting !== '') paint(waiting)
    waiting = ''
  }
  return {
    add(text: string): void {
      waiting += text
      frame ??= requestAnimationFrame(finish)
    },
    finish,
  }
}
