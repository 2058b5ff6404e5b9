import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Reading } from './client.ts'
import type { Cluster, Slot } from './cluster.ts'
import type { ChaosCustomer } from './customers.ts'
import { bodyOf, model, planOf, type RequestPlan } from './request-plan.ts'

/** One request as its client knows it. Times are `performance.now()`. */
export type Asked = Reading & {
  readonly tag: number
  readonly stream: boolean
  readonly organizationId: string
  readonly bodyBytes: number
  readonly slot: string
  /** Process that was asked. */
  readonly pid: number
  readonly fromMs: number
  readonly toMs: number
}

export type Load = {
  readonly asked: readonly Asked[]
  /** When the last request that this slot served began; 0: it served none. */
  servedAtMs(slot: Slot): number
  /** Ends after `stop`, once every client has its answer. */
  readonly ended: Promise<void>
  stop(): void
}

/** As in a load balancer: a replica that does not respond gets no more than this. */
const openPerGatewayMax = 40
/** How often each gateway is asked whether it serves; each time by a request like any other. */
const watchEveryMs = 250

/** Sends requests to the gateways all the time, each in turn; every request has its own tag. */
export function startLoad(
  cluster: Cluster,
  customers: readonly ChaosCustomer[],
  options: { readonly seed: number; readonly ratePerS: number },
): Load {
  const asked: Asked[] = []
  const open = new Set<Promise<void>>()
  const openCounts = new Map<string, number>()
  const served = new Map<string, number>()
  const watcher = customers.find(({ kind }) => kind === 'watcher')
  const askers = customers.filter(({ kind }) => kind !== 'watcher')
  let tag = 0
  let isStopped = false

  async function askOnce(slot: Slot, customer: ChaosCustomer, plan: RequestPlan): Promise<void> {
    const { process, name } = slot
    if (process === undefined) return
    const body = bodyOf(plan, model)
    const fromMs = performance.now()
    const reading = await ask(process.baseUrl, customer.key, plan, body)
    if (reading.status === 200 && reading.how === 'whole')
      served.set(name, Math.max(fromMs, served.get(name) ?? 0))
    asked.push({
      ...reading,
      tag: plan.tag,
      stream: plan.stream,
      organizationId: customer.organizationId,
      bodyBytes: body.length,
      slot: name,
      pid: process.pid,
      fromMs,
      toMs: performance.now(),
    })
  }

  function begin(slot: Slot, customer: ChaosCustomer | undefined): void {
    const openCount = openCounts.get(slot.name) ?? 0
    if (slot.process === undefined || customer === undefined || openCount >= openPerGatewayMax) return
    tag += 1
    openCounts.set(slot.name, openCount + 1)
    const request = askOnce(slot, customer, planOf(options.seed, tag)).finally(() => {
      open.delete(request)
      openCounts.set(slot.name, (openCounts.get(slot.name) ?? 1) - 1)
    })
    request.catch(() => undefined) // reported by `ended`
    open.add(request)
  }

  async function askInTurn(): Promise<void> {
    const { gateways } = cluster
    for (let turn = 0; !isStopped; turn += 1, await pause(1000 / options.ratePerS)) {
      const slot = gateways[turn % gateways.length]
      const { customerDraw } = planOf(options.seed, tag + 1)
      if (slot !== undefined) begin(slot, askers[Math.floor(customerDraw * askers.length)])
    }
  }

  async function watch(): Promise<void> {
    for (; !isStopped; await pause(watchEveryMs)) for (const slot of cluster.gateways) begin(slot, watcher)
  }

  async function run(): Promise<void> {
    await Promise.all([askInTurn(), watch()])
    await Promise.all(open)
  }

  return {
    asked,
    servedAtMs: ({ name }) => served.get(name) ?? 0,
    ended: run(),
    stop() {
      isStopped = true
    },
  }
}
