import { randomBytes } from 'node:crypto'
import type { Throttles } from '#cabinet/api/throttles'
import { createProofsOfWork } from '#cabinet/web/internal/api/altcha'
import { createDeviceCookies } from '#cabinet/web/internal/api/device-cookie'

/** No caller ever waits or proves any work. */
export const noThrottles: Throttles = {
  count: async () => 0,
  tally: async () => 0,
  takeBack: async () => undefined,
  clear: async () => undefined,
}

const sealingKeys = [randomBytes(32)] as const

/** What a web application of a test throttles with: nothing. */
export const unthrottled = {
  throttles: noThrottles,
  proofs: createProofsOfWork(sealingKeys, noThrottles),
  devices: createDeviceCookies(sealingKeys, '__Host-model_gateway_device'),
}
