import type { Fault, Operation } from '../control-contracts.ts'

export type Faults = ReturnType<typeof createFaults>

const faultsMax = 1_000

/** Waiting faults, in the order in which they were added. */
export function createFaults() {
  let waiting: readonly Fault[] = []
  return {
    /** Returns false if too many are waiting. */
    add(fault: Fault): boolean {
      if (waiting.length === faultsMax) return false
      waiting = [...waiting, fault]
      return true
    },
    clear(): void {
      waiting = []
    },
    /** The fault that affects a request. Counts the request. */
    take(operation: Operation): Fault | undefined {
      const fault = waiting.find(({ on }) => on === 'any' || on === operation)
      if (fault === undefined || fault.times === null) return fault
      const rest = fault.times === 1 ? [] : [{ ...fault, times: fault.times - 1 }]
      waiting = waiting.flatMap((other) => (other === fault ? rest : [other]))
      return fault
    },
  }
}
