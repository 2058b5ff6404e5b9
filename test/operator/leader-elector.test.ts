import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { KubeConfig } from '@kubernetes/client-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { leases } from '#operator/runtime/resources'
import { clusterOfThisFile } from '../support/cluster.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { atPort, portOf } from './cluster-port.ts'

const { kubeConfig, apiServer } = await clusterOfThisFile()
const database = await databaseOfThisFile()
await database.pool.query(
  `create table leader_writes (
     id bigint generated always as identity, lease text, epoch bigint, holder text, at timestamptz default clock_timestamp())`,
)

/** A fifth of the real times, so that a test is short and a busy machine still keeps them. */
const times = { lengthMs: 3_000, renewDeadlineMs: 2_000, retryMs: 400 }
/** Longest hand-over: the Lease's length since it was last seen to change, and 1.5 tries. */
const handOverMsMax = times.lengthMs + 1.5 * times.retryMs

type Contender = {
  readonly identity: string
  readonly process: ChildProcess
  /** What it reported so far. */
  readonly said: readonly string[]
}

type ContenderOptions = {
  readonly through?: KubeConfig
  readonly times?: typeof times
  /** Default: `end`. */
  readonly whenLost?: 'end' | 'goOn'
}

const newLease = () => `lease-${randomBytes(6).toString('hex')}`

/** A process that wants the Lease and writes while it thinks that it leads; it ends with this test. */
async function contenderOfThisTest(lease: string, options: ContenderOptions = {}): Promise<Contender> {
  const identity = `contender-${randomBytes(4).toString('hex')}`
  const settings = {
    times: options.times ?? times,
    whenLost: options.whenLost ?? 'end',
    kubeconfig: (options.through ?? kubeConfig).exportConfig(),
    databaseUrl: database.url,
    lease,
    identity,
  }
  const child = spawn(
    process.execPath,
    [`${import.meta.dirname}/leading-process.ts`, JSON.stringify(settings)],
    { env: inheritedEnvironment, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const said: string[] = []
  createInterface(child.stdout).on('line', (line) => said.push(line))
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  onTestFinished(async () => {
    process.off('exit', kill)
    if (child.exitCode === null && child.signalCode === null) {
      kill()
      await once(child, 'exit')
    }
  })
  await vi.waitFor(() => expect(said).toContain('started'))
  return { identity, process: child, said }
}

/** The two contenders of a test, the first of which leads and writes. */
async function leaderAndStandby(lease: string, optionsOfLeader: ContenderOptions = {}) {
  const leader = await contenderOfThisTest(lease, optionsOfLeader)
  await untilWriting(lease, leader)
  const standby = await contenderOfThisTest(lease)
  await vi.waitFor(() => expect(standby.said).toEqual(['started']))
  return { leader, standby }
}

async function untilWriting(lease: string, { identity }: Contender, timeoutMs = 15_000): Promise<void> {
  const sql = 'select from leader_writes where lease = $1 and holder = $2 limit 1'
  const wrote = async () => expect((await database.pool.query(sql, [lease, identity])).rowCount).toBe(1)
  await vi.waitFor(wrote, { timeout: timeoutMs })
}

/** Who wrote, in the order of the writes, and when each began and ended, in ms. */
async function reigns(lease: string) {
  const { rows } = await database.pool.query<{ holder: string; epoch: bigint; at: Date }>(
    'select holder, epoch, at from leader_writes where lease = $1 order by id',
    [lease],
  )
  const all: { holder: string; epoch: bigint; fromMs: number; toMs: number }[] = []
  for (const { holder, epoch, at } of rows) {
    const last = all.at(-1)
    if (last?.holder === holder && last.epoch === epoch) last.toMs = at.getTime()
    else all.push({ holder, epoch, fromMs: at.getTime(), toMs: at.getTime() })
  }
  return all
}

/** One writer at any time: reigns do not interleave, and each has a higher epoch than the one before. */
async function expectOneAfterTheOther(lease: string, ...contenders: readonly Contender[]) {
  const all = await reigns(lease)
  expect(all.map(({ holder }) => holder)).toEqual(contenders.map(({ identity }) => identity))
  expect(all.map(({ epoch }) => epoch)).toEqual(contenders.map((_, index) => BigInt(index + 1)))
  return { handOverMs: (all[1]?.fromMs ?? 0) - (all[0]?.toMs ?? 0) }
}

test('a leader that is stopped hands over within one try', async () => {
  const lease = newLease()
  const { leader, standby } = await leaderAndStandby(lease)
  leader.process.kill('SIGTERM')
  await untilWriting(lease, standby)
  const { handOverMs } = await expectOneAfterTheOther(lease, leader, standby)
  expect(leader.process.exitCode).toBe(0)
  expect(handOverMs).toBeLessThan(1.5 * times.retryMs + 500)
})

test('a leader that is killed is followed when its Lease has run out, and no sooner', async () => {
  const lease = newLease()
  const { leader, standby } = await leaderAndStandby(lease)
  leader.process.kill('SIGKILL')
  await untilWriting(lease, standby)
  const { handOverMs } = await expectOneAfterTheOther(lease, leader, standby)
  expect(handOverMs).toBeGreaterThan(times.lengthMs - 1.5 * times.retryMs)
  expect(handOverMs).toBeLessThan(handOverMsMax + 500)
})

test('a leader that was frozen and wakes after another took over ends', async () => {
  const lease = newLease()
  const { leader, standby } = await leaderAndStandby(lease)
  leader.process.kill('SIGSTOP')
  await untilWriting(lease, standby)
  const ended = once(leader.process, 'exit')
  leader.process.kill('SIGCONT')
  expect(await ended).toEqual([1, null])
  await expectOneAfterTheOther(lease, leader, standby)
})

test('a leader that was frozen and goes on as if it still led can write nothing', async () => {
  const lease = newLease()
  const { leader, standby } = await leaderAndStandby(lease, { whenLost: 'goOn' })
  leader.process.kill('SIGSTOP')
  await untilWriting(lease, standby)
  const ended = once(leader.process, 'exit')
  leader.process.kill('SIGCONT')
  expect(await ended).toEqual([1, null])
  expect(leader.said).toContain('fenced')
  expect(leader.said.at(-1)).toBe('refused')
  await expectOneAfterTheOther(lease, leader, standby)
})

test('a leader whose event loop stood still for longer than its Lease ends, and writes nothing any more', async () => {
  const lease = newLease()
  const { leader, standby } = await leaderAndStandby(lease)
  const ended = once(leader.process, 'exit')
  leader.process.stdin?.write(`${times.lengthMs + 2 * times.retryMs}\n`)
  expect(await ended).toEqual([1, null])
  await untilWriting(lease, standby)
  await expectOneAfterTheOther(lease, leader, standby)
})

test('a leader that is cut off from the API server ends before another can take over', async () => {
  const lease = newLease()
  const gate = await gateOfThisTest(portOf(kubeConfig))
  const { leader, standby } = await leaderAndStandby(lease, { through: atPort(kubeConfig, gate.port) })
  const ended = once(leader.process, 'exit')
  gate.holdAnswers()
  expect(await ended).toEqual([1, null])
  expect(standby.said).toEqual(['started'])
  await untilWriting(lease, standby)
  const { handOverMs } = await expectOneAfterTheOther(lease, leader, standby)
  expect(handOverMs).toBeGreaterThan(0)
})

test('a leader keeps its Lease while the API server is unavailable for less than its deadline', async () => {
  const lease = newLease()
  const patient = { lengthMs: 6_000, renewDeadlineMs: 5_000, retryMs: 400 }
  const leader = await contenderOfThisTest(lease, { times: patient })
  await untilWriting(lease, leader)
  apiServer.freeze()
  onTestFinished(() => apiServer.thaw())
  await vi.waitFor(() => expect(leader.said).toContain('unanswered'))
  apiServer.thaw()
  await untilRenewed(lease)
  expect(leader.said).toEqual(['started', 'elected', 'unanswered'])
})

async function untilRenewed(lease: string): Promise<void> {
  const client = createClusterClient(kubeConfig)
  onTestFinished(() => client.close())
  const version = async () =>
    (await client.find(leases, { namespace: 'default', name: lease }))?.metadata.resourceVersion
  const before = await version()
  await vi.waitFor(async () => expect(await version()).not.toBe(before))
}

test('of five that start at once, one leads', async () => {
  const lease = newLease()
  const all = await Promise.all(Array.from({ length: 5 }, () => contenderOfThisTest(lease)))
  const elected = () => all.filter(({ said }) => said.includes('elected'))
  await vi.waitFor(() => expect(elected().length).toBe(1))
  await untilRenewed(lease)
  expect(elected().length).toBe(1)
})
