import { setTimeout as pause } from 'node:timers/promises'
import type { Slot } from './cluster.ts'

/** A fault under way; `over`: what died runs again, what was frozen goes on. */
export type Begun = { readonly over: Promise<void> }

/** A span in which a gateway slept: its holds may have been swept, or lost with Redis, without its knowing. */
export type Freeze = {
  readonly slot: string
  readonly fromMs: number
  toMs: number
  /** Age of its oldest charge that was not in Postgres when it fell asleep. */
  readonly keptMs: number
}

/** The history of faults, for the evaluation. */
export type FaultHistory = {
  readonly freezes: Freeze[]
  /** When Redis lost data, or may have. */
  readonly lossesAtMs: number[]
  /** Gateways that were ended, by process id: since when each had charges that Postgres did not have. */
  readonly endedPids: Map<number, number>
}

/** Claims the targets while it acts; no other fault affects them during that time. */
export function on(targets: readonly { busy: boolean }[], act: () => Promise<unknown>): Begun {
  for (const target of targets) target.busy = true
  const over = act().then(() => {
    for (const target of targets) target.busy = false
  })
  over.catch(() => undefined) // the caller that waits for the end gets the error
  return { over }
}

/** The slot at this place among those that nothing happens to. */
export function findFree(slots: readonly Slot[], place: number): Slot | undefined {
  const free = slots.filter(({ busy }) => !busy)
  return free[Math.floor(place * free.length)]
}

/** Stops a slot's process (SIGSTOP) for a while. */
export async function freezeProcess({ process }: Slot, lastsMs: number): Promise<void> {
  process?.freeze()
  await pause(lastsMs)
  process?.thaw()
}
