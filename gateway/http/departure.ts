import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { writeChunk } from './chunked-body.ts'

/** Notifies when the client of one response has disconnected, so that work for it can stop. */
export type Departure = {
  hasLeft(): boolean
  /** Calls `stop` when the client leaves; returns a function that takes that back. */
  onLeave(stop: () => void): () => void
  /** It got an error because its time is up: from now on it counts as disconnected. */
  giveUp(): void
  /** Stops watching: the response is complete, or no client waits for it. */
  release(): void
}

/**
 * Wait before a client that has ended its side is asked a second time, which finds that it rejected the first question: shorter
 * than an admission may wait for others.
 */
const askAgainMs = 5
/** Each further wait is twice the one before, up to that of idle load balancers. */
const askAgainMsMax = 15_000

type Answer = {
  readonly raw: ServerResponse
  readonly keepAlive: string
  readonly leave: () => void
  /** Until the client is asked again. */
  timer: NodeJS.Timeout | undefined
}

/** The answers that are watched, by connection: two listeners for the end of each request would be 8 % of its CPU. */
const watched = new WeakMap<Socket, Answer[]>()

/**
 * Watches an answer's connection. A client that got its last byte has not left.
 *
 * One that has ended its own side may have left, or may be waiting for its answer: it is asked until that is known.
 *
 * @param keepAlive a frame that clients of a stream skip.
 */
export function watchDeparture(raw: ServerResponse, keepAlive: string): Departure {
  const { socket } = raw.req
  const answers = answersOf(socket)
  const stops: (() => void)[] = []
  let left = raw.destroyed
  const giveUp = () => {
    clearTimeout(answer.timer)
    if (left) return
    left = true
    for (const stop of [...stops]) if (stops.includes(stop)) stop() // one may have taken back another
  }
  const leave = () => (raw.writableFinished ? clearTimeout(answer.timer) : giveUp())
  const answer: Answer = { raw, keepAlive, leave, timer: undefined }
  answers.push(answer)
  if (socket.readableEnded && !left) keepAsking(answer)
  return {
    hasLeft: () => left,
    giveUp,
    onLeave(stop) {
      stops.push(stop)
      return () => remove(stops, stop)
    },
    release() {
      clearTimeout(answer.timer)
      remove(answers, answer)
    },
  }
}

/** Lists of one or two, which cost less than sets of them. */
function remove<Item>(list: Item[], item: Item): void {
  const position = list.indexOf(item)
  if (position !== -1) list.splice(position, 1)
}

function answersOf(socket: Socket): Answer[] {
  const known = watched.get(socket)
  if (known !== undefined) return known
  const answers: Answer[] = []
  watched.set(socket, answers)
  socket.once('end', () => {
    for (const answer of answers) keepAsking(answer)
  })
  socket.once('close', () => {
    for (const { leave } of [...answers]) leave()
  })
  return answers
}

function keepAsking(answer: Answer, againMs = askAgainMs): void {
  ask(answer)
  answer.timer = setTimeout(keepAsking, againMs, answer, Math.min(2 * againMs, askAgainMsMax))
}

/**
 * Sends a client that has ended its side what it will ignore. If it has closed its socket, its system rejects that, and
 * the connection closes.
 */
function ask({ raw, keepAlive }: Answer): void {
  if (raw.socket === null || raw.writableEnded) return // behind another answer, or leaving: that asks, too
  if (raw.headersSent) writeChunk(raw, keepAlive)
  else if (raw.req.httpVersion === '1.1') raw.writeProcessing()
  else raw.socket.destroy() // nothing may come before the answer
}
