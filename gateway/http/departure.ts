import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The moment the client of one answer is gone, for whoever has to stop then. */
export type Departure = {
  hasLeft(): boolean
  /** Calls `stop` when the client leaves; answers how to take that back. */
  onLeave(stop: () => void): () => void
  /** Watches no longer: the answer is complete, or nobody waits for it. */
  release(): void
}

/** The answers that are watched, by connection: listeners for each request's end are dear, two of them 8 % of its CPU. */
const watched = new WeakMap<Socket, Set<() => void>>()

/** Watches an answer's connection. A client that got its last byte has not left. */
export function watchDeparture(raw: ServerResponse): Departure {
  const answers = answersOf(raw.req.socket)
  const stops = new Set<() => void>()
  let left = raw.destroyed
  const leave = () => {
    if (raw.writableFinished) return
    left = true
    for (const stop of stops) stop()
  }
  answers.add(leave)
  return {
    hasLeft: () => left,
    onLeave(stop) {
      stops.add(stop)
      return () => stops.delete(stop)
    },
    release: () => answers.delete(leave),
  }
}

function answersOf(socket: Socket): Set<() => void> {
  const known = watched.get(socket)
  if (known !== undefined) return known
  const answers = new Set<() => void>()
  watched.set(socket, answers)
  socket.once('close', () => {
    for (const leave of answers) leave()
  })
  return answers
}
