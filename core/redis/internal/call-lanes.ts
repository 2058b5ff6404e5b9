import type { Hearer, Lane, ScriptCall } from '../script-call.ts'

/** Calls sent as one at most. Redis serves nothing else in the meantime: about 0.5 ms. */
export const callsAtOnceMax = 32

/**
 * Longest wait for the answer to the call under way. With a longer one, calls would fail at half of the latency of Redis that
 * a single call bears. Calls that wait here are also lost with this process, unlike those in Redis's socket.
 */
export const laneWaitMsMax = 20

type LaneHearer = Hearer & {
  /** Asked right before it is sent. `false`: it is not, and hears nothing more. */
  isWanted(): boolean
  /** It was not sent: the connection broke first. */
  onUnsent(error: unknown): void
}

/** A call's place in its lane. */
export type Place = {
  /** Takes the call back. Returns whether it was not sent: then nothing is heard of it. */
  withdraw(): boolean
}

export type CallLanes = {
  call(lane: Lane, args: readonly (string | number)[], hearer: LaneHearer): Place
  /** Sends what was asked in this turn of the event loop and need not wait for an answer. Call it at the end of the turn. */
  endTurn(): void
}

/**
 * Sends a call at once if none of its lane is under way. While one is, further calls wait together until it is answered, or
 * until they are as many as one call takes, or for 20 ms: so at most one call's worth waits in a lane, in order.
 */
export function createCallLanes(deps: {
  readonly send: (call: ScriptCall, hearer: Hearer) => void
  /** Whether what is sent leaves only at the end of this turn: then it can as well wait here for others. */
  readonly gathers: () => boolean
  /** Whether this is an answer of Redis, and not a connection that broke. */
  readonly isAnswer: (error: unknown) => boolean
}): CallLanes {
  const lanes = new Map<string, LaneState>()
  /** Those with calls of this turn, and none under way. */
  let begun: [name: string, state: LaneState][] = []
  return {
    call(lane, args, hearer) {
      const name = nameOf(lane)
      let state = lanes.get(name)
      if (state === undefined) {
        state = { lane, sentCount: 0, waiting: [] }
        lanes.set(name, state)
      }
      const waiting = new Waiting(state, args, hearer)
      state.waiting.push(waiting)
      if (state.waiting.length >= callsAtOnceMax) sendWaiting(name, state)
      else if (state.sentCount === 0 && state.waiting.length === 1) {
        if (deps.gathers()) begun.push([name, state])
        else sendWaiting(name, state)
      } else if (state.waiting.length === 1) {
        state.waitEnd = setTimeout(() => sendWaiting(name, state), laneWaitMsMax).unref()
      }
      return waiting
    },
    endTurn() {
      const ready = begun
      begun = []
      for (const [name, state] of ready) if (state.sentCount === 0) proceed(name, state)
    },
  }

  function sendWaiting(name: string, state: LaneState): void {
    const calls = takeWaiting(state).filter(({ hearer }) => hearer.isWanted())
    if (calls.length === 0) {
      if (state.sentCount === 0) drop(name, state)
      return
    }
    state.sentCount += 1
    for (const call of calls) call.isSent = true
    const { script, keys, head } = state.lane
    const args = [...head]
    for (const call of calls) args.push(...call.args)
    deps.send(
      { script, keys, args },
      {
        onReply(reply) {
          end(name, state)
          handOut(reply, calls)
        },
        onError(error) {
          if (deps.isAnswer(error)) end(name, state)
          else giveUp(name, state, error)
          for (const { hearer } of calls) hearer.onError(error)
        },
      },
    )
  }

  function end(name: string, state: LaneState): void {
    state.sentCount -= 1
    if (state.sentCount === 0) proceed(name, state)
  }

  function proceed(name: string, state: LaneState): void {
    if (state.waiting.length > 0) sendWaiting(name, state)
    else drop(name, state)
  }

  /** Not a newer lane of that name. */
  function drop(name: string, state: LaneState): void {
    if (lanes.get(name) === state) lanes.delete(name)
  }

  function giveUp(name: string, state: LaneState, error: unknown): void {
    const calls = takeWaiting(state)
    end(name, state)
    for (const { hearer } of calls) hearer.onUnsent(error)
  }
}

/** A lane with calls under way. */
type LaneState = {
  readonly lane: Lane
  sentCount: number
  waiting: Waiting[]
  /** When what waits is sent at the latest. */
  waitEnd?: NodeJS.Timeout
}

function takeWaiting(state: LaneState): Waiting[] {
  clearTimeout(state.waitEnd)
  const calls = state.waiting
  state.waiting = []
  return calls
}

class Waiting implements Place {
  readonly args: readonly (string | number)[]
  readonly hearer: LaneHearer
  isSent = false
  readonly #state: LaneState

  constructor(state: LaneState, args: readonly (string | number)[], hearer: LaneHearer) {
    this.#state = state
    this.args = args
    this.hearer = hearer
  }

  withdraw(): boolean {
    if (this.isSent) return false
    this.#state.waiting = this.#state.waiting.filter((other) => other !== this)
    return true
  }
}

function handOut(reply: unknown, calls: readonly Waiting[]): void {
  const replies: readonly unknown[] = calls.length === 1 ? [reply] : Array.isArray(reply) ? reply : []
  for (const [at, { hearer }] of calls.entries()) {
    const own = replies[at]
    if (own === undefined) hearer.onError(new TypeError('a script did not reply to each of its calls'))
    else if (own instanceof Error) hearer.onError(own)
    else hearer.onReply(own)
  }
}

function nameOf({ script, keys, of, head }: Lane): string {
  return `${script.label} ${keys.join(' ')} ${of} ${head.join(' ')}`
}
