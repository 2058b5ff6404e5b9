import type { FurtherCalls } from '../../routing/provider-limit.ts'

/** Parallel calls of one attempt: a large request must not take a provider for itself. */
const callsAtOnce = 4

/** The calls of one attempt, sent as there is room for them. */
export type PacedCalls = {
  /** Sends what may be sent now, and what has to wait for the provider's limit when its turn comes. */
  sendMore(): void
  /** One of the calls has ended. Returns whether all of them have. */
  noteEnd(): boolean
  /** Whether the provider's limit has kept a call back. */
  haveWaited(): boolean
  /** Nothing is sent any more. */
  stop(): void
}

/** Sends `count` calls, the first of which has its place in the provider's limit; the others wait for their turn. */
export function paceCalls(calls: {
  readonly count: number
  readonly furtherCalls: Pick<FurtherCalls, 'onTurn'>
  readonly send: (call: number) => void
}): PacedCalls {
  const { count, furtherCalls, send } = calls
  let sent = 0
  let ended = 0
  let state: 'ready' | 'waiting' | 'stopped' = 'ready'
  let haveWaited = false

  function sendMore(): void {
    if (state !== 'ready' || sent === count || sent - ended === callsAtOnce) return
    if (sent === 0) sendNext()
    else waitForTurn()
  }

  function waitForTurn(): void {
    state = 'waiting'
    furtherCalls.onTurn(() => {
      if (state === 'stopped') return
      state = 'ready'
      sendNext()
    })
    if (state === 'waiting') haveWaited = true
  }

  function sendNext(): void {
    send(sent++)
    sendMore()
  }

  return {
    sendMore,
    noteEnd() {
      ended += 1
      return ended === count
    },
    haveWaited: () => haveWaited,
    stop() {
      state = 'stopped'
    },
  }
}
