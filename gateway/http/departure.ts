import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Tells when the client of one answer has left, so that work for it can stop. */
export type Departure = {
  hasLeft(): boolean
  /** Calls `stop` when the client leaves; returns a function that takes that back. */
  onLeave(stop: () => void): () => void
  /** Stops watching: the answer is complete, or nobody waits for it. */
  release(): void
}

/** The answers that are watched, by connection: two listeners for the end of each request would be 8 % of its CPU. */
const watched = new WeakMap<Socket, (() => void)[]>()

/** Watches an answer's connection. A client that got its last byte has not left. */
export function watchDeparture(raw: ServerResponse): Departure {
  const answers = answersOf(raw.req.socket)
  const stops: (() => void)[] = []
  let left = raw.destroyed
  const leave = () => {
    if (raw.writableFinished) return
    left = true
    for (const stop of [...stops]) if (stops.includes(stop)) stop() // one may have taken back another
  }
  answers.push(leave)
  return {
    hasLeft: () => left,
    onLeave(stop) {
      stops.push(stop)
      return () => remove(stops, stop)
    },
    release: () => remove(answers, leave),
  }
}

/** Lists of one or two, which cost less than sets of them. */
function remove(list: (() => void)[], item: () => void): void {
  const position = list.indexOf(item)
  if (position !== -1) list.splice(position, 1)
}

function answersOf(socket: Socket): (() => void)[] {
  const known = watched.get(socket)
  if (known !== undefined) return known
  const answers: (() => void)[] = []
  watched.set(socket, answers)
  socket.once('close', () => {
    for (const leave of [...answers]) leave()
  })
  return answers
}
