import { randomBytes, randomUUID } from 'node:crypto'
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, vi } from 'vitest'
import { createPosting, type Posting } from '#core/admission/posting'
import type { ProjectedRow } from '#core/admission/projected-rows'
import { signDocument } from '#core/catalog/catalog-document'
import { createCatalogCopy } from '#core/catalog/internal/published-catalog'
import { hashKey, writeKey } from '#core/keys/key'
import { connectRedis } from '#core/redis/redis-connection'
import { shardOf } from '#core/redis/shard'
import { readConfig } from '#gateway/config'
import { startGateway } from '#gateway/start-gateway'
import { redisOfThisFile } from './redis.ts'
import { readRefusals, redisUrlOf } from './redis-logins.ts'
import { signedRoute } from './signed-route.ts'
import { startUpstream } from './upstream.ts'

const pepper = 'pepper of these tests, 32 letters'
const signingKey = 'the key that signs routes in these tests'
/** Keeps what is logged at `info`, and the words of warnings. */
function quietLog(heard: object[], warnings: string[]) {
  return {
    debug() {},
    info: (facts: object) => void heard.push(facts),
    warn: (_facts: object, words = '') => void warnings.push(words),
    error: (facts: object) => process.stderr.write(`${JSON.stringify(facts)}\n`),
  }
}

/**
 * A gateway with a Redis and a provider and nothing else: no Postgres, and no worker that removes charges.
 * With `whenClosed` its provider stops generating when its connection is closed. At its own provider, or at
 * `providerUrl`, it serves `demo/echo`, `demo/vector` (embeddings) and `demo/closed`, which is open only to
 * the owner of `closed`.
 */
export async function loneGatewayOfThisFile(
  env: NodeJS.ProcessEnv = {},
  { providerUrl, whenClosed }: { readonly providerUrl?: string; readonly whenClosed?: 'stops' } = {},
) {
  const redis = await redisOfThisFile()
  const upstream = await startUpstream()
  const connection = connectRedis(redis.url, { name: 'test', timeoutMs: 5000 })
  await connection.connected(5000)
  const posting = createPosting(connection)
  const closed = await createKey(posting)
  const network = { http: true, privateAddresses: true }
  const provider = {
    name: 'demo',
    api: 'OpenAI',
    baseUrl: providerUrl ?? upstream.url,
    auth: { type: 'None' },
    headers: [],
    network,
    ...(whenClosed === 'stops' ? { quirks: 'vllm' } : {}),
  }
  const signing = { revision: 1n, signingKey }
  await createCatalogCopy(connection).publishCatalog(
    signing.revision,
    new Map([
      ['provider:demo', signDocument(JSON.stringify(provider), String(signing.revision), [signingKey])],
      signedRoute('demo/echo', signing, { hiddenReasoning: whenClosed !== 'stops' }),
      signedRoute('demo/vector', signing, { type: 'embedding' }),
      signedRoute('demo/closed', signing, { organizations: [closed.organizationId] }),
    ]),
  )

  const logged: object[] = []
  const warned: string[] = []
  const gateway = await startGateway(configOf(redis.url, env), quietLog(logged, warned))
  const baseUrl = `http://127.0.0.1:${gateway.port}`

  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
    expect(redis.pid() === undefined ? [] : await readRefusals(redis.url)).toEqual([])
    connection.close()
  })

  const ready = async () =>
    expect((await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`)).status).toBe(200)
  await vi.waitFor(ready, { timeout: 5000 })
  return {
    connection,
    upstream,
    gateway,
    closed,
    /** Lines at `info` so far. */
    logged,
    /** Warnings so far. */
    warned,
    redis,
    scriptCalls: () => scriptCalls(gateway.adminPort),
    createKey: (changes?: KeyChanges) => createKey(posting, changes),
    send: (options: Sending) => send(baseUrl, options),
  }
}

function configOf(redisUrl: string, env: NodeJS.ProcessEnv) {
  return readConfig({
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    REDIS_URL: redisUrlOf.gateway(redisUrl),
    KEY_PEPPER: pepper,
    CREDENTIALS_KEY: randomBytes(32).toString('base64'),
    ROUTES_SIGNING_KEY: signingKey,
    UPSTREAM_ALLOWED_CIDRS: '127.0.0.0/8',
    ...env,
  })
}

/**
 * Scripts that the gateway has run so far, for requests and holds. Rejections are listed afterwards, some at a time, and are
 * not counted.
 */
async function scriptCalls(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const counts = text.matchAll(
    /^model_gateway_redis_script_duration_seconds_count\{[^}]*script="(\w+)"[^}]*\} (\d+)/gm,
  )
  return [...counts].reduce((sum, [, script, count]) => (script === 'list' ? sum : sum + Number(count)), 0)
}

type KeyChanges = Partial<Extract<ProjectedRow, { kind: 'key' }>> & { readonly balanceNano?: bigint }

/** A key in Redis as the projection writes it; its organization has `balanceNano`. */
async function createKey(posting: Posting, changes: KeyChanges = {}) {
  const { balanceNano = 10_000_000_000n, ...policy } = changes
  const organizationId = randomUUID()
  const keyId = randomUUID()
  const shard = shardOf(organizationId)
  const key = writeKey(shard, randomBytes(32), pepper)
  const nonce = randomUUID()
  const limits = {
    rpm: 10_000,
    tpm: 10_000_000,
    dailyBudgetNano: null,
    budgets: [],
    allowedModels: null,
    allowedIps: null,
    readBalance: false,
    keepsResponsesHours: null,
  }
  await posting.beginEpoch(shard, nonce)
  await posting.project(
    shard,
    [
      { kind: 'organization', organizationId, postedNano: balanceNano, version: 1n },
      {
        kind: 'key',
        keyId,
        version: 1n,
        state: 'active',
        blockedBy: null,
        expiresAtMs: null,
        ...limits,
        ...policy,
      },
      {
        kind: 'secret',
        hash: hashKey(key, pepper),
        version: 1n,
        keyId,
        organizationId,
        validUntilMs: null,
        state: 'active',
      },
    ],
    null,
  )
  await posting.openEpoch(shard, nonce, 0)
  const keyRow = {
    kind: 'key',
    keyId,
    state: 'active',
    blockedBy: null,
    expiresAtMs: null,
    ...limits,
  } as const
  /** Changes it, as the projection does after a change in the cabinet. @param version above 1, and above the last one. */
  const change = (changed: KeyChanges, version: bigint) =>
    posting.project(shard, [{ ...keyRow, ...policy, ...changed, version }], null)
  return { key, keyId, shard, organizationId, change }
}

type Owner = { readonly shard: Parameters<typeof writeKey>[0] }

/** A key that was made here and that Redis has not heard of, in a shard that is open. */
export function unknownKeyBeside({ shard }: Owner) {
  return writeKey(shard, randomBytes(32), pepper)
}

/**
 * A key as written by an attacker who does not know the pepper, in an open shard: with a correct checksum.
 */
export function uncheckedKeyBeside({ shard }: Owner) {
  return writeKey(shard, randomBytes(32), 'a pepper of somebody else, 32 letters')
}

/** A key as written by an attacker who does not even know that it has a checksum. */
export function madeUpKeyBeside(owner: Owner) {
  return uncheckedKeyBeside(owner).replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
}

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }

type Sending = {
  readonly path?: string
  readonly method?: string
  readonly key?: string
  /** The client's own address, of 127.0.0.0/8. */
  readonly from?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Sent in pieces, without a Content-Length. */
  readonly chunks?: readonly Buffer[]
  /** Between two pieces. */
  readonly pauseMs?: number
}

/** One request as it is, without the help that `fetch` gives. */
function send(baseUrl: string, options: Sending): Promise<Answer> {
  const { path = '/v1/chat/completions', method = 'POST', key, body = '', chunks, headers = {} } = options
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const length = chunks === undefined ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${baseUrl}${path}`, {
      method,
      agent: false,
      localAddress: options.from,
      headers: { 'content-type': 'application/json', ...authorization, ...length, ...headers },
    })
    request.on('response', async (response) => {
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part)
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(parts).toString(),
      })
      request.destroy()
    })
    request.on('error', reject)
    void writePieces(request, chunks ?? [body], options.pauseMs)
  })
}

async function writePieces(
  request: ClientRequest,
  pieces: readonly (string | Buffer)[],
  pauseMs: number | undefined,
): Promise<void> {
  for (const [at, piece] of pieces.entries()) {
    if (at > 0 && pauseMs !== undefined) await pause(pauseMs)
    request.write(piece)
  }
  request.end()
}
