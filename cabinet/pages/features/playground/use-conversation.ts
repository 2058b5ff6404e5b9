import { useEffect, useRef, useState } from 'react'
import { asProblem } from '../../api/problem.ts'
import { goToLogin } from '../../navigation/sign-in-again.ts'
import { type Exchange, newExchange, requestOf, type Settings } from './conversation.ts'
import { type ChatEvent, type ChatRequest, streamChat } from './gateway-call.ts'
import { createPlaygroundKey, type PlaygroundKey } from './playground-key.ts'

export type Conversation = {
  readonly exchanges: readonly Exchange[]
  readonly isRunning: boolean
  /** Asks unless an answer is in progress. */
  ask(settings: Settings, question: string): void
  /** Asks the last question again and replaces its result. */
  retry(settings: Settings): void
  stop(): void
  clear(): void
}

/** Error codes after which a new key may work: this one has expired, or a newer one replaced it. */
const endedKey: ReadonlySet<string> = new Set(['expired_api_key', 'invalid_api_key'])

/** A conversation with a model, kept in the memory of the page. Leaving the page ends it. */
export function useConversation(baseUrl: string): Conversation {
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([])
  const [isRunning, setRunning] = useState(false)
  const [key] = useState(createPlaygroundKey)
  const running = useRef<AbortController>(undefined)
  const nextId = useRef(0)

  useEffect(() => () => running.current?.abort(), [])

  function change(id: number, changes: (exchange: Exchange) => Partial<Exchange>): void {
    setExchanges((all) => all.map((one) => (one.id === id ? { ...one, ...changes(one) } : one)))
  }

  async function run(before: readonly Exchange[], settings: Settings, question: string): Promise<void> {
    if (running.current !== undefined) return
    const controller = new AbortController()
    running.current = controller
    const exchange = newExchange(nextId.current++, question)
    setExchanges([...before, exchange])
    setRunning(true)
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
      running.current = undefined
      setRunning(false)
    }
  }

  return {
    exchanges,
    isRunning,
    ask: (settings, question) => void run(exchanges, settings, question),
    retry(settings) {
      const last = exchanges.at(-1)
      if (last !== undefined) void run(exchanges.slice(0, -1), settings, last.question)
    },
    stop: () => running.current?.abort(),
    clear() {
      running.current?.abort()
      setExchanges([])
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
