import { setTimeout as pause } from 'node:timers/promises'

/** The end of one attempt. `failed`: it is not known whether it was written. */
export type Attempt = 'stored' | 'rejected' | 'failed'

/** `busy`: too much waits already. `late`: it may be stored yet, and is deleted then. */
export type WriteEnd = 'stored' | 'rejected' | 'busy' | 'unavailable' | 'late'

export type Write = {
  readonly bytes: number
  /** Writes once. A repeated write changes nothing. Never fails. */
  readonly attempt: () => Promise<Attempt>
  /** Called where it may have been written although its end was another one. */
  readonly undo: () => void
}

type WriteLimits = {
  /** Of all writes that have not ended, in bytes. */
  readonly bytesMax: number
  readonly atOnceMax: number
  /** How long a client waits for one. */
  readonly waitMs: number
}

const attemptsMax = 3
const pauseMs = 50
/** After a failure only one write at a time finds out whether the cabinet is back; the others end at once. */
const restMs = 1_000

/** Writes of which each ends soon, whatever happens, and which together take bounded memory. */
export class BoundedWrites {
  readonly #limits: WriteLimits
  readonly #now: () => number
  readonly #waiting: (() => void)[] = []
  #bytes = 0
  #running = 0
  #restsUntilMs: number | undefined

  /** @param now `performance.now`. */
  constructor(limits: WriteLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Bytes of the writes that have not ended. */
  get bytes(): number {
    return this.#bytes
  }

  write(write: Write): Promise<WriteEnd> {
    const { bytesMax, waitMs } = this.#limits
    if (this.#bytes + write.bytes > bytesMax) return Promise.resolve('busy')
    if (!this.#mayTry()) return Promise.resolve('unavailable')
    this.#bytes += write.bytes
    return new Promise((resolve) => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        this.#restsUntilMs = this.#now() + restMs
        resolve('late')
      }, waitMs)
      void this.#writeUntil(write, this.#now() + waitMs).then((end) => {
        clearTimeout(timer)
        this.#bytes -= write.bytes
        if (end === 'failed' || (isLate && end === 'stored')) write.undo()
        resolve(end === 'failed' ? 'unavailable' : end)
      })
    })
  }

  async #writeUntil({ attempt }: Write, deadlineMs: number): Promise<Attempt> {
    await this.#turn()
    let end: Attempt | undefined
    for (let made = 0; made < attemptsMax && this.#now() < deadlineMs; made += 1) {
      if (made > 0) await pause(pauseMs)
      end = await attempt()
      this.#restsUntilMs = end === 'failed' ? this.#now() + restMs : undefined
      if (end !== 'failed') break
    }
    this.#passTurn()
    return end ?? 'rejected'
  }

  /** Whether the cabinet may be available: as far as is known, or because it is time to try. */
  #mayTry(): boolean {
    if (this.#restsUntilMs === undefined) return true
    if (this.#now() < this.#restsUntilMs) return false
    this.#restsUntilMs = this.#now() + restMs
    return true
  }

  async #turn(): Promise<void> {
    if (this.#running < this.#limits.atOnceMax) this.#running += 1
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
  }

  #passTurn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}
