import { randomInt } from 'node:crypto'

/** An IPv4 address that no other test uses, and so its own throttles. */
export const newClientAddress = () => [10, randomInt(256), randomInt(256), randomInt(256)].join('.')
