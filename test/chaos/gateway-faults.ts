import { setTimeout as pause } from 'node:timers/promises'
import { type Begun, type FaultHistory, type Freeze, findFree, freezeProcess, on } from './begun.ts'
import type { Slot } from './cluster.ts'
import type { Fault } from './fault-schedule.ts'
import { type LossGates, readKept } from './loss-gates.ts'

/** Where a gateway does not report how old its charges are: longer than Postgres is ever down here. */
const keptMsMax = 60_000

export function freezeGateway(
  gateways: readonly Slot[],
  { freezes }: FaultHistory,
  fault: Fault,
): Begun | undefined {
  const slot = findFree(gateways, fault.place)
  if (slot === undefined) return undefined
  return on([slot], async () => {
    const keptMs = await readKeptMs(slot)
    const fromMs = performance.now()
    const freeze: Freeze = { slot: slot.name, fromMs, toMs: Number.POSITIVE_INFINITY, keptMs }
    freezes.push(freeze)
    await freezeProcess(slot, fault.lastsMs)
    freeze.toMs = performance.now()
  })
}

export async function killGateway(
  gateways: readonly Slot[],
  gates: LossGates,
  history: FaultHistory,
  { place, lastsMs }: Fault,
): Promise<Begun | undefined> {
  const slot = findFree(gateways, place)
  if (slot === undefined || !(await gates.mayGatewayEnd(slot))) return undefined
  return on([slot], async () => {
    await endGateway(slot, gates, history, 'kill')
    await pause(lastsMs)
    await slot.start()
  })
}

export async function restartGateways(
  gateways: readonly Slot[],
  gates: LossGates,
  history: FaultHistory,
): Promise<Begun | undefined> {
  if (gateways.some(({ busy }) => busy)) return undefined
  for (const slot of gateways) if (!(await gates.mayGatewayEnd(slot))) return undefined
  return on(gateways, async () => {
    for (const slot of gateways) {
      await endGateway(slot, gates, history, 'stop')
      await slot.start()
    }
  })
}

async function endGateway(
  slot: Slot,
  gates: LossGates,
  { endedPids }: FaultHistory,
  how: 'kill' | 'stop',
): Promise<void> {
  const noteDeath = gates.gatewayEnds()
  const keptMs = await readKeptMs(slot)
  const { process } = slot
  slot.process = undefined // as a load balancer has it: one that ends gets no more requests
  if (process !== undefined) endedPids.set(process.pid, performance.now() - keptMs)
  await process?.[how]()
  noteDeath()
}

/** Age of the oldest charge that is not in Postgres. */
async function readKeptMs({ process }: Slot): Promise<number> {
  try {
    return (await readKept(process?.adminUrl ?? '')).ageMs
  } catch {
    return keptMsMax
  }
}
