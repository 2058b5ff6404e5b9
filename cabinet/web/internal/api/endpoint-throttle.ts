import { type Contract, defaultThrottle } from '../../../api/contract.ts'
import type { Device } from '../../../api/endpoint.ts'
import type { Throttles } from '../../../api/throttles.ts'
import { networkOf } from './network.ts'

/** The hardest proof for the calls of one address. Users who share an address with an attacker still get through. */
const workOfAddressMax = 4
/** Short, so that a wave of calls is detected early. */
const allSpanS = 10

/** Counts the calls of an endpoint. Endpoints without their own throttle share one. */
export type EndpointThrottle = {
  /** Seconds that an address must wait. */
  waitOfAddress(address: string): Promise<number>
  /** Seconds that a session must wait. Other sessions do not affect it. */
  waitOfSession(sessionId: string): Promise<number>
  /** The work that a call without a session must prove; 0: none. */
  neededWork(address: string, device: Device | undefined): Promise<number>
}

export function endpointThrottle(contract: Contract, throttles: Throttles): EndpointThrottle {
  const { operation, proofOfWork } = contract
  const { perAddress, perAddressDaily, all } = contract.throttle ?? defaultThrottle
  const name = contract.throttle === undefined ? 'calls' : operation
  const ofAddress = { name, count: perAddress, perS: 60 }
  const leastWork = proofOfWork === 'always' ? 1 : 0

  async function isKnown({ userIds: [userId = ''] }: Device): Promise<boolean> {
    return (await throttles.tally({ ...ofAddress, name: `${name}_device` }, userId)) <= perAddress
  }

  /** Calls of others never cost a user more than one unit of work, which a phone solves unnoticed. */
  async function workOfAll(): Promise<number> {
    if (all === undefined) return 0
    const count = Math.ceil((all * allSpanS) / 60)
    return (await throttles.tally({ name: `${name}_all`, count, perS: allSpanS }, 'all')) > count ? 1 : 0
  }

  async function workOfNetwork(network: string): Promise<number> {
    const inMinute = Math.floor((await throttles.tally(ofAddress, network)) / (perAddress + 1))
    if (perAddressDaily === undefined) return Math.min(workOfAddressMax, inMinute)
    const daily = { name: `${name}_daily`, count: perAddressDaily, perS: 86_400 }
    const inDay = Math.floor((await throttles.tally(daily, network)) / (perAddressDaily + 1))
    return Math.min(workOfAddressMax, Math.max(inMinute, inDay))
  }

  return {
    waitOfAddress: (address) => throttles.count(ofAddress, networkOf(address)),
    waitOfSession: (sessionId) => throttles.count({ ...ofAddress, name: `${name}_session` }, sessionId),
    async neededWork(address, device) {
      // Calls of known devices do not affect others, and others do not affect them.
      if (device !== undefined && (await isKnown(device))) return leastWork
      return Math.max(leastWork, await workOfNetwork(networkOf(address)), await workOfAll())
    },
  }
}
