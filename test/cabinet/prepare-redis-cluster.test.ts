import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { gatewayRedisUser } from '#core/admission/redis-users'
import { connectRedis } from '#core/redis/redis-connection'
import { redisUrlAs } from '#standalone/redis'
import { redisOfThisFile } from '../support/redis.ts'
import { redisClusterOfThisFile } from '../support/redis-cluster.ts'
import { runEntry } from '../support/run-entry.ts'

const cluster = await redisClusterOfThisFile()
const single = await redisOfThisFile()
const passwordOf = (name: string) => `${name}-${randomBytes(8).toString('hex')}`

/** Runs the Job, with new passwords. */
async function prepare(redisUrl: string) {
  const passwords = {
    REDIS_PASSWORD_GATEWAY: passwordOf('gateway'),
    REDIS_PASSWORD_WORKER: passwordOf('worker'),
    REDIS_PASSWORD_CABINET: passwordOf('cabinet'),
  }
  const { code, stdout: output } = await runEntry('release/prepare-redis/main.ts', {
    ...passwords,
    REDIS_URL: redisUrl,
  })
  return { code, output, gatewayPassword: passwords.REDIS_PASSWORD_GATEWAY }
}

/** Sets a setting of one node until the test ends. */
async function setUntilEnd(name: string, value: string, usual: string): Promise<void> {
  const [node] = cluster.nodes
  if (node === undefined) throw new Error('no nodes')
  await cluster.ask(node, 'CONFIG', 'SET', name, value)
  onTestFinished(async () => void (await cluster.ask(node, 'CONFIG', 'SET', name, usual)))
}

test('the users are created at every node, replicas too, though one node was named', async () => {
  const { code, output, gatewayPassword } = await prepare(cluster.nodes[1]?.url ?? '')
  expect(output).toContain('User model_gateway_cabinet is ready.')
  expect(code).toBe(0)
  for (const { url } of cluster.nodes) {
    const connection = connectRedis(redisUrlAs({ user: gatewayRedisUser, password: gatewayPassword }, url), {
      name: 'test',
      timeoutMs: 2_000,
    })
    onTestFinished(connection.close)
    await connection.connected(5_000)
    expect(String(await connection.ask((redis) => redis.cluster('NODES')))).toContain('myself')
  }
})

test.each([
  ['cluster-require-full-coverage', 'yes', 'no', 'cluster-require-full-coverage yes'],
  ['cluster-node-timeout', '20000', '2000', 'cluster-node-timeout 20000'],
  ['appendonly', 'no', 'yes', 'no append-only file'],
])(
  'a node with %s %s is rejected with one sentence, and no user is changed',
  async (name, value, usual, words) => {
    await setUntilEnd(name, value, usual)
    const { code, output } = await prepare(cluster.url)
    expect(code).toBe(1)
    expect(output.trim().split('\n')).toEqual([expect.stringContaining(words)])
  },
)

test('a single server among nodes of a cluster is rejected with one sentence', async () => {
  const { code, output } = await prepare(`${cluster.url},${single.url}`)
  expect(code).toBe(1)
  expect(output.trim().split('\n')).toEqual([expect.stringContaining('belongs to no cluster')])
})

test('a node whose address cannot be reached is rejected with one sentence', async () => {
  const [, second] = cluster.nodes
  const { code, output } = await prepare(`${second?.url},redis://127.0.0.1:1`)
  expect(code).toBe(1)
  expect(output.trim().split('\n').at(-1)).toContain('Cannot connect to 127.0.0.1:1')
})
