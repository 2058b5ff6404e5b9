import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createAdmission } from '#core/admission/admission'
import type { KeyHash } from '#core/keys/key'
import { connectRedis, RedisUnavailable } from '#core/redis/redis-connection'
import type { LibraryFunction, Script } from '#core/redis/script-call'
import { allShards } from '#core/redis/shard'
import { startRedis } from '#standalone/redis'

async function startBoth(timeoutMs?: number) {
  const redis = await startRedis({ appendonly: 'no' })
  onTestFinished(() => redis[Symbol.asyncDispose]())
  const connection = connectRedis(redis.url, {
    name: 'test',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  onTestFinished(connection.close)
  await connection.connected(5_000)
  return { redis, connection }
}

const [shard] = allShards
if (shard === undefined) throw new Error('there are no shards')
const nobody = 'x'.repeat(43) as KeyHash

test('a frozen Redis is an outage after 100 ms a call, and at once when it stays frozen, but for what keeps holds', async () => {
  const { redis, connection } = await startBoth()
  const admission = createAdmission(connection)
  await admission.renew(shard, [])
  redis.freeze()
  const timed = async (call: Promise<unknown>) => {
    const startedMs = performance.now()
    await expect(call).rejects.toThrow(RedisUnavailable)
    return performance.now() - startedMs
  }
  const tookMs: number[] = []
  for (let call = 0; call < 7; call++) tookMs.push(await timed(admission.inspect(shard, nobody)))
  // 100 each; the rest is what busy processors add.
  expect(Math.min(...tookMs.slice(0, 5))).toBeLessThan(300)
  expect(Math.max(...tookMs.slice(0, 5))).toBeLessThan(2_000)
  expect(Math.min(...tookMs.slice(5))).toBeLessThan(50)
  expect(await timed(admission.renew(shard, []))).toBeGreaterThan(90) // it was sent all the same

  redis.thaw()
  await vi.waitFor(async () => admission.inspect(shard, nobody), { timeout: 5_000, interval: 20 })
})

test('a process that is held up for longer than the time-out hears Redis all the same, and that it is silent', async () => {
  const { redis, connection } = await startBoth()
  let turn: NodeJS.Immediate | undefined
  const holdUp = () => {
    const untilMs = performance.now() + 150
    while (performance.now() < untilMs); // blocks the event loop
    turn = setImmediate(holdUp)
  }
  onTestFinished(() => clearImmediate(turn))
  const busy = "for n = 1, 2e5 do math.sqrt(n) end return 'done'" // some ms: no answer within the turn that sends it
  const askTwice = () => Promise.all([1, 2].map(() => connection.ask((client) => client.eval(busy, 0))))
  holdUp()
  for (let round = 0; round < 5; round++) expect(await askTwice()).toEqual(['done', 'done'])

  redis.freeze()
  const startedMs = performance.now()
  await expect(askTwice()).rejects.toThrow(RedisUnavailable)
  expect(performance.now() - startedMs).toBeLessThan(3_000) // twice 100 ms, each seen at the end of a turn; others use the processors, too
})

test('a Redis that is gone is an outage at once; another run has another id and another number', async () => {
  const { redis, connection } = await startBoth()
  const before = { runId: connection.runId(), number: connection.connectionNumber() }
  await redis.kill()
  await vi.waitFor(() => expect(connection.runId()).toBeUndefined())
  const startedMs = performance.now()
  await expect(connection.ask((client) => client.ping())).rejects.toThrow(RedisUnavailable)
  expect(performance.now() - startedMs).toBeLessThan(50)
  expect(await createAdmission(connection).inspect(shard, 'x' as never)).toMatchObject({
    reason: 'unavailable',
  })

  await redis.start()
  await connection.connected(5_000)
  expect(connection.runId()).not.toBe(before.runId)
  expect(connection.connectionNumber()).toBeGreaterThan(before.number)
})

test('a socket that stays silent is dropped, and the connection is made again', async () => {
  const { redis, connection } = await startBoth()
  const before = connection.connectionNumber()
  redis.freeze()
  const closed = new Promise((resolve) => connection.redis.once('close', resolve))
  await expect(connection.ask((client) => client.ping())).rejects.toThrow(RedisUnavailable)
  await closed
  redis.thaw()
  await vi.waitFor(() => expect(connection.connectionNumber()).toBeGreaterThan(before), { timeout: 10_000 })
})

test('a script that Redis has forgotten is sent again, read-only ones too', async () => {
  const { connection } = await startBoth(2_000)
  for (const script of [functionOf('return 7', 'yes'), functionOf('return 7', 'no'), textOf('return 7')]) {
    expect(await connection.run(script, ['k'], [], asItCame)).toBe(7)
    await connection.redis.function('FLUSH')
    await connection.redis.script('FLUSH')
    expect(await connection.run(script, ['k'], [], asItCame)).toBe(7)
  }
})

test('a script that is not loaded yet responds to all concurrent callers', async () => {
  const { connection } = await startBoth(2_000)
  for (const script of [functionOf('return 7', 'yes'), textOf('return 7')]) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => connection.run(script, ['k'], [], asItCame)),
    )
    expect(new Set(answers)).toEqual(new Set([7]))
  }
})

test('an error inside a script is a bug and no outage', async () => {
  const { connection } = await startBoth(2_000)
  const call = connection.run(functionOf("return redis.call('HGET', KEYS[1])", 'yes'), ['k'], [], asItCame)
  await expect(call).rejects.toThrow(/Wrong number of args/)
  await expect(call).rejects.not.toThrow(RedisUnavailable)
})

test('a script gets every text and number unchanged, and its response arrives as texts', async () => {
  const { connection } = await startBoth(2_000)
  const args = ['', 'a b\r\n$5\r\n', 'рубль 🌍', 'x'.repeat(1024 * 1024), 0, -7, 2 ** 40]
  const body = 'return { KEYS, ARGV, #KEYS }'
  for (const script of [functionOf(body, 'yes'), textOf(body)])
    expect(await connection.run(script, ['k', 'ключ'], args, asItCame)).toEqual([
      ['k', 'ключ'],
      args.map(String),
      2,
    ])
})

test('scripts and plain commands that are sent together each get their own answer', async () => {
  const { connection } = await startBoth(2_000)
  const script = functionOf('return ARGV[1]', 'no')
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      n % 2 === 0
        ? connection.run(script, ['k'], [n], asItCame)
        : connection.ask((redis) => redis.echo(String(n))),
    ),
  )
  expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => String(n)))
})

test('an answer that cannot be read is a bug and no outage, and the next one is read', async () => {
  const { connection } = await startBoth(2_000)
  const script = functionOf('return 7', 'yes')
  const misread = connection.run(script, ['k'], [], () => {
    throw new TypeError('not so')
  })
  await expect(misread).rejects.toThrow(TypeError)
  expect(await connection.run(script, ['k'], [], Number)).toBe(7)
})

test('an observer of scripts learns how each one ended, but not its arguments', async () => {
  const redis = await startRedis({ appendonly: 'no' })
  onTestFinished(() => redis[Symbol.asyncDispose]())
  const heard: string[] = []
  const connection = connectRedis(redis.url, {
    name: 'test',
    timeoutMs: 2_000,
    onScript: ({ label }, end) => heard.push(`${label} ${end}`),
  })
  onTestFinished(connection.close)
  await connection.connected(5_000)
  const [good, bad] = [functionOf('return 7', 'yes'), functionOf("return redis.call('HGET', KEYS[1])", 'yes')]
  await connection.run(good, ['k'], [], asItCame)
  const error = await connection.run(bad, ['k'], ['a secret'], asItCame).then(String, inspect)
  expect(error).not.toContain('a secret')
  await redis.kill()
  await vi.waitFor(() => expect(connection.runId()).toBeUndefined())
  await connection.run(good, ['k'], [], asItCame).catch(() => undefined)
  expect(heard).toEqual([`${good.label} answered`, `${bad.label} failed`, `${good.label} failed`])
})

function asItCame(reply: unknown): unknown {
  return reply
}

let scriptsMade = 0

/** A function of its library. */
function functionOf(body: string, writes: LibraryFunction['writes']): Script {
  const name = `test_${++scriptsMade}`
  const flags = writes === 'no' ? "'no-writes'" : ''
  const function_ = `redis.register_function({ function_name = '${name}', callback = function(KEYS, ARGV) ${body} end, flags = { ${flags} } })`
  const library = { name, source: `#!lua name=${name}\n${function_}` }
  return { label: name, code: { kind: 'function', library, name, writes }, sent: 'unless_open' }
}

/** A whole text. */
function textOf(body: string): Script {
  const text = `-- ${++scriptsMade}\n${body}`
  const sha1 = createHash('sha1').update(text).digest('hex')
  return {
    label: `text_${scriptsMade}`,
    code: { kind: 'text', writes: 'yes', text, sha1 },
    sent: 'unless_open',
  }
}
