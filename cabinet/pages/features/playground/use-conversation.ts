import { useEffect, useRef, useState } from 'react'
import { asProblem } from '../../api/problem.ts'
import { goToLogin } from '../../app/sign-in-again.ts'
import { type Exchange, newExchange, requestOf, type Settings } from './conversation.ts'
import { type ChatEvent, type ChatRequest, streamChat } from './gateway-call.ts'
import { createPlaygroundKey } from './playground-key.ts'

export type Conversation = {
  readonly exchanges: readonly Exchange[]
  readonly isRunning: boolean
  /** Asks, unless something is running already. */
  ask(settings: Settings, question: string): void
  /** Asks the last question once more, in place of what came of it. */
  retry(settings: Settings): void
  stop(): void
  clear(): void
}

/** Codes after which another key may do better: this one has ended, or was revoked for a newer one. */
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
      const failed = await follow(exchange.id, request, controller.signal, painter.add)
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

  /** @returns whether it failed. @throws ApiProblem, or AbortError when it was stopped */
  async function follow(
    id: number,
    request: ChatRequest,
    signal: AbortSignal,
    add: (text: string) => void,
    isRetry = false,
  ): Promise<boolean> {
    const secret = await key.secret()
    signal.throwIfAborted()
    for await (const event of streamChat({ baseUrl, secret, request, signal })) {
      if (event.kind === 'text') add(event.text)
      else if (event.kind === 'failed' && endedKey.has(event.failure.code)) {
        key.forget()
        if (!isRetry) return follow(id, request, signal, add, true)
      }
      if (event.kind !== 'text') change(id, () => changesOf(event))
      if (event.kind === 'failed') return true
    }
    return false
  }

  return {
    ...{ exchanges, isRunning },
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

function changesOf(event: Exclude<ChatEvent, { readonly kind: 'text' }>): Partial<Exchange> {
  if (event.kind === 'accepted') return { isAccepted: true, requestId: event.requestId }
  if (event.kind === 'billed') return { bill: event.bill }
  return { failure: event.failure, requestId: event.failure.requestId }
}

/** Joins what comes between two frames: a fast model says more than a screen can show. */
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
