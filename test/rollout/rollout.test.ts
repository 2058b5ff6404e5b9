import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { apiVersion } from '#crds/resource'
import { readClusterId } from '#operator/runtime/cluster-id'
import { ownKeyClusterOfThisFile, type Team } from '../support/api-key-cluster.ts'
import { signUp, visitorOf } from '../support/cabinet.ts'
import { openStream } from '../support/chat-stream.ts'
import { type ClusterUser, deployed } from '../support/cluster.ts'
import { startLoad } from '../support/load.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { type Process, untilReady } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { releaseBeforeOfThisFile } from '../support/release-before.ts'
import { settledBooks } from '../support/settled-books.ts'
import { untilListed } from '../support/stack.ts'
import { pausedAnswer } from '../support/upstream.ts'

const folder = releaseBeforeOfThisFile()
if (folder === undefined)
  process.stderr.write('SKIPPED: roll-out beside the release before. This is no clone of the repository.\n')

const operators = operatorsOfThisFile()
const { client, cluster, stack, createTeam, settledStatus } = await ownKeyClusterOfThisFile({
  deploy: 'installed',
})
const view = viewOfThisFile(stack.redis)
const { namespace } = deployed
const databaseUrl = stack.database.url
const before = stack.ofRelease(folder ?? '')

/** Leases five times shorter than in production, so that a test need not wait for them. */
const quickLease = { OPERATOR_LEASE_MS: '3000', OPERATOR_RENEW_DEADLINE_MS: '2000', OPERATOR_RETRY_MS: '400' }
const prices = { inputNano: 10_000n, outputNano: 30_000n }
/** 10 tokens in and 5 out, as the provider reports. */
const costNano = 10n * prices.inputNano + 5n * prices.outputNano

describe.skipIf(folder === undefined)('next to the previous release, on the schema of today', () => {
  // One story, as a roll-out and a roll-back go: each test goes on where the one before it has left the processes.
  let gateways: readonly [old: Process, today: Process]
  let load: ReturnType<typeof startLoad>
  let customer: Awaited<ReturnType<typeof stack.createCustomer>>
  let loadedModel: string
  let user: ClusterUser
  let team: Team
  /** An organization that the release before has not served. */
  let strangers: Team
  let worker: Process | undefined
  let operator: Process
  let web: Process

  /** What workers and operators could not do, but for whom they could not reach: other files use the machine, too. */
  const errors: string[] = []
  const noteErrors = (line: string) => {
    if (line.includes('"level":50') && line.includes('failed') && !/Unavailable|timeout/.test(line))
      errors.push(line)
  }

  const startOperator = async (release: 'old' | 'today') => {
    await holdRightsOf(release)
    operator = await operators.start(
      { cluster, databaseUrl, namespace, user, folder: release === 'old' ? folder : undefined },
      { ...quickLease, OPERATOR_INSTANCE: `${release}-${randomBytes(3).toString('hex')}` },
      noteErrors,
    )
  }

  /** As `helm upgrade` and `helm rollback` do: the operator of the release before may also get Secrets. */
  const holdRightsOf = async (release: 'old' | 'today') => {
    const name = 'rights-of-the-release-before'
    if (release === 'today') {
      for (const kind of ['clusterrolebinding', 'clusterrole'])
        await cluster.kubectlOk(['delete', '--ignore-not-found', kind, name])
      return
    }
    await cluster.kubectlOk(['create', 'clusterrole', name, '--verb=get', '--resource=secrets'])
    const subject = `--user=${deployed.operator}`
    await cluster.kubectlOk(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, subject])
  }

  const passOperator = async (release: 'old' | 'today') => {
    await operator.stop()
    await startOperator(release)
  }

  /** The migration notes which organizations a cluster has keys for; with them the release before may go on. */
  const servedTeam = async () => {
    const made = await createTeam()
    await stack.database.pool.query(
      'insert into namespace_observations (cluster_id, namespace, organization_id) values ($1, $2, $3)',
      [await readClusterId(client), made.namespace, made.organizationId],
    )
    return made
  }

  const letLead = async (release: 'old' | 'today') => {
    const next = await (release === 'old' ? before : stack).startWorker({}, noteErrors)
    await untilReady(next)
    await worker?.stop()
    worker = next
  }

  const statusesOf = (key: string) => Promise.all(gateways.map((gateway) => settledStatus(gateway, key)))
  const untilStatus = (key: string, status: number) =>
    vi.waitFor(async () => expect(await statusesOf(key)).toEqual([status, status]), { timeout: 20_000 })

  beforeAll(async () => {
    user = await cluster.addUser(deployed.operator)
    await startOperator('old')
    await letLead('old')
    const old = await before.startGateway()
    await untilReady(old)
    loadedModel = await stack.createModel(prices)
    customer = await stack.createCustomer({ rpm: 1_000_000 })
    const today = await stack.startGateway()
    await untilReady(today)
    gateways = [old, today]
    await untilServedByBoth([loadedModel])
    load = startLoad(gateways, customer.key, loadedModel)
    team = await servedTeam()
    web = await stack.startWeb()
  }, 60_000)

  /** A stream of a gateway that is killed, once a worker would bill what it has delivered. */
  async function killStreaming(gateway: Process) {
    await untilReady(gateway)
    const model = await stack.createModel(prices)
    const { key, organizationId } = await stack.createCustomer()
    await untilListed(gateway, key, [model])
    stack.upstream.answer(model, pausedAnswer().answer)
    const { requestId, ended } = await openStream(gateway, key, model)
    await vi.waitFor(async () =>
      expect((await view.sweepable(organizationId))[0]?.costNano).toBeGreaterThan(0n),
    )
    const [hold] = await view.sweepable(organizationId)
    await gateway.kill()
    await ended
    const books = await settledBooks(stack, view, organizationId, { held: 'rest' })
    expect(books.get(requestId)).toMatchObject({ costNano: hold?.costNano, chargeRows: 1 })
  }

  test('under a worker of the release before, gateways of both follow the catalog, and a dead one of today is billed', async () => {
    const added = await stack.createModel(prices)
    await untilServedByBoth([added])
    await killStreaming(await stack.startGateway())
  })

  /** Applies a route and its provider, and resolves once both gateways serve it. */
  async function applyRoute(name: string): Promise<void> {
    const metadata = { name, namespace }
    const network = { http: true, privateAddresses: true }
    const model = `rollout/${name}`
    const backends = [{ name: 'main', providerRef: { name }, model: name }]
    for (const object of [
      { kind: 'ModelProvider', metadata, spec: { api: 'OpenAI', baseURL: stack.upstream.url, network } },
      { kind: 'ModelRoute', metadata, spec: { model, free: true, backends } },
    ])
      await cluster.kubectlOk(['apply', '-f', '-'], JSON.stringify({ apiVersion, ...object }))
    await untilServedByBoth([model])
  }

  const untilServedByBoth = (models: readonly string[]) =>
    Promise.all(gateways.map((gateway) => untilListed(gateway, customer.key, models)))

  test('what the operator of the release before makes of a route and a key opens at both', async () => {
    await applyRoute('early')
    await team.apply('early')
    const { OPENAI_API_KEY: key = '' } = await team.readyValues('early')
    await untilStatus(key, 200)
  })

  test("a key of the previous release's operator for a new organization is rejected, and waits", async () => {
    const stranger = await createTeam()
    await stranger.apply('early')
    const { Accepted } = await stranger.untilReady('early', 'DatabaseRefused')
    expect(Accepted?.message).toContain('for which no namespace of its cluster was seen labelled')
    strangers = stranger
  })

  test('under a worker of today, gateways of both follow the catalog, and a dead one of the release before is billed', async () => {
    await letLead('today')
    const added = await stack.createModel(prices)
    await untilServedByBoth([added])
    await killStreaming(await before.startGateway())
  })

  test('the operator of today leaves keys as they are, makes one that opens at both, and blocks one at both', async () => {
    const { OPENAI_API_KEY: early = '' } = await team.readyValues('early')
    await passOperator('today')
    await applyRoute('late')
    await strangers.readyValues('early')
    await untilServedByBoth(['rollout/early'])
    await team.apply('late')
    const { OPENAI_API_KEY: late = '' } = await team.readyValues('late')
    await untilStatus(late, 200)
    expect(await team.readyValues('early')).toMatchObject({ OPENAI_API_KEY: early })
    await untilStatus(early, 200)
    await team.apply('early', { suspend: true })
    await untilStatus(early, 403)
  })

  test('rolled back, the release before goes on with the keys of today, lifts a block, and revokes at both', async () => {
    const { OPENAI_API_KEY: late = '' } = await team.readyValues('late')
    await letLead('old')
    await passOperator('old')
    await team.apply('early', { suspend: false })
    const { OPENAI_API_KEY: early = '' } = await team.readyValues('early')
    await untilStatus(early, 200)
    await untilServedByBoth(['rollout/early', 'rollout/late'])
    expect(await team.readyValues('late')).toMatchObject({ OPENAI_API_KEY: late })
    await team.remove('late')
    await untilStatus(late, 401)
  })

  test('the web process of the release before serves customers', async () => {
    const { pool } = stack.database
    const old = await before.startWeb({ TRUSTED_PROXY_CIDRS: '127.0.0.0/8' }, noteErrors)
    await untilReady(old)
    const url = old.baseUrl.replace(/\/v1$/, '')
    const { visitor, email } = await signUp({ pool, visitor: () => visitorOf(url) })
    const refused: unknown[] = []
    const call = async (
      method: string,
      path: string,
      body?: object,
      version: Record<string, string> = {},
    ) => {
      const headers = { 'idempotency-key': randomBytes(8).toString('hex'), ...version }
      const answer = await visitor.call(method, path, body, headers)
      if (answer.status >= 300) refused.push([method, path, answer.status, answer.body])
      return answer
    }
    const change = async (path: string, body: object) => {
      const etag = (await call('GET', path)).headers.get('etag') ?? ''
      await call('PATCH', path, body, { 'if-match': etag })
    }
    const { id } = (await call('POST', '/keys', { name: 'ci' })).body.key
    await call('POST', `/keys/${id}/block`)
    await call('POST', `/keys/${id}/unblock`)
    await change(`/keys/${id}`, { name: 'agents' })
    await call('POST', `/keys/${id}/rotate`, { grace: '1h' })
    for (const path of ['/keys', '/balance', '/ledger', '/bonuses', '/overview', '/requests', '/payments'])
      await call('GET', path)
    await change('/organization', { display_name: 'Acme' })
    await call('PATCH', '/me', { locale: 'ru' })
    await call('POST', '/auth/password/forgot', { email })
    await call('GET', '/me/sessions')
    await call('DELETE', `/keys/${id}`)
    await call('POST', '/auth/logout')
    expect(refused).toEqual([])
  })

  test('all that time no request failed, and each answer of the provider is charged once', async () => {
    await letLead('today')
    await untilReady(web)
    const { failures, answered, retried } = await load.stop()
    expect(failures).toEqual([])
    expect(errors.filter((line) => !line.includes(strangers.namespace))).toEqual([])
    expect(answered.length).toBeGreaterThan(100)
    const requests = await vi.waitFor(async () => {
      const { records } = await stack.readBooks(customer.organizationId)
      expect(answered.filter((id) => !records.has(id))).toEqual([])
      return records.size
    })
    const books = await settledBooks(stack, view, customer.organizationId, { requests })
    const others = [...books].filter(([id]) => !answered.includes(id))
    expect(others.filter(([id, { costNano }]) => !retried.includes(id) || costNano !== 0n)).toEqual([])
    const wrong = answered.filter(
      (id) => books.get(id)?.chargeRows !== 1 || books.get(id)?.costNano !== costNano,
    )
    expect(wrong).toEqual([])
    expect(stack.upstream.requestsFor(loadedModel)).toHaveLength(answered.length)
  })
})
