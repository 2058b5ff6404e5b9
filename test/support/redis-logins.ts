import { Redis } from 'ioredis'
import { cabinetRedisUser, gatewayRedisUser, workerRedisUser } from '#core/admission/redis-users'
import { type Login, redisUrlAs } from '#standalone/redis'

const gateway = { user: gatewayRedisUser, password: 'what a gateway says to Redis in tests' }
const worker = { user: workerRedisUser, password: 'what a worker says to Redis in tests' }
const cabinet = { user: cabinetRedisUser, password: 'what a cabinet says to Redis in tests' }

/** The processes that talk to Redis, each with no more permissions than its job needs. */
export const redisLogins = [gateway, worker, cabinet]

/** A Redis that knows `redisLogins`, or the nodes of a cluster that do, as a process reaches them. */
export const redisUrlOf = {
  gateway: (urls: string) => urlsAs(gateway, urls),
  worker: (urls: string) => urlsAs(worker, urls),
  cabinet: (urls: string) => urlsAs(cabinet, urls),
} as const

function urlsAs(login: Login, urls: string): string {
  return urls
    .split(',')
    .map((url) => redisUrlAs(login, url))
    .join(',')
}

/** What Redis has refused to its users for want of a right since its start: command or name, and whose. */
export async function readRefusals(url: string): Promise<readonly string[]> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, commandTimeout: 1_000 })
  redis.on('error', () => undefined) // the caller gets the error
  try {
    await redis.connect()
    const entries = (await redis.call('ACL', 'LOG')) as string[][]
    return entries.map((entry) => {
      const [reason, object, user] = ['reason', 'object', 'username'].map(
        (name) => entry[entry.indexOf(name) + 1],
      )
      return `${user}: ${reason} ${object}`
    })
  } finally {
    redis.disconnect()
  }
}
