import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { putJournalProvider } from './journal.ts'
import { kubectlOk } from './kubernetes.ts'
import { loadDuring } from './load.ts'
import { useOf } from './processes-of-pods.ts'
import {
  createCustomer,
  createKey,
  deployments,
  eventually,
  imageOf,
  namespace,
  podsOf,
  putRelease,
} from './release.ts'
import { figure } from './results.ts'

const components = [...deployments, 'trial-postgres', 'trial-redis'] as const
const limits = { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 }
/**
 * Enough that the load of an idle system is small in comparison, and little enough that two processors are
 * not full.
 */
const requestsPerS = 60
const spanMs = 60_000

beforeAll(async () => {
  await putRelease()
  await putJournalProvider(await imageOf('gateway'))
})

test('what each process needs to start', async () => {
  for (const component of deployments) {
    const [pod = ''] = await podsOf(component)
    await kubectlOk(['-n', namespace, 'delete', 'pod', pod, '--wait'])
    const times = await eventually(async () => {
      const news = (await podsOf(component)).map(startOf)
      const [newest] = (await Promise.all(news)).toSorted((a, b) => b.startedMs - a.startedMs)
      expect(newest?.readyMs).toBeGreaterThan(0)
      return newest
    })
    figure(`cold start of ${component}`, `${((times?.readyMs ?? 0) - (times?.startedMs ?? 0)) / 1000} s`)
  }
})

test('the needs of an idle release, and the cost of a request', async () => {
  await pause(20_000)
  const idle = await useDuring(() => pause(spanMs))
  for (const component of components) {
    const { cpuMs, memoryBytes } = idle[component] ?? { cpuMs: 0, memoryBytes: 0 }
    figure(
      `idle ${component}`,
      `${(cpuMs / (spanMs / 1000)).toFixed(1)} ms of processor a second, ${mib(memoryBytes)}`,
    )
  }
  const { key } = await createKey(await createCustomer('1000'), 'figures', { limits })
  let count = 0
  const ask = () => ({ pieces: 20, everyMs: 0, stream: false }) as const
  await loadDuring(key, requestsPerS, ask, () => pause(spanMs / 2))
  const busy = await useDuring(async () => {
    const calls = await loadDuring(key, requestsPerS, ask, () => pause(spanMs))
    count = calls.filter(({ isWhole }) => isWhole).length
  })
  expect(count).toBeGreaterThan((requestsPerS * spanMs) / 1000 / 2)
  for (const component of components) {
    const used = (busy[component]?.cpuMs ?? 0) - (idle[component]?.cpuMs ?? 0)
    figure(`a request at ${requestsPerS}/s, ${component}`, `${(used / count).toFixed(2)} ms of processor`)
  }
})

type Use = Readonly<Record<string, { readonly cpuMs: number; readonly memoryBytes: number }>>

/** Processor time of each process of the release while something ran, its pods together, and their memory after it. */
async function useDuring(work: () => Promise<void>): Promise<Use> {
  const before = await useNow()
  await work()
  const after = await useNow()
  return Object.fromEntries(
    Object.entries(after).map(([component, use]) => [
      component,
      { ...use, cpuMs: use.cpuMs - (before[component]?.cpuMs ?? 0) },
    ]),
  )
}

async function useNow(): Promise<Use> {
  const entries = components.map(async (component) => {
    const uses = await Promise.all((await podsOf(component)).map(useOf))
    const sum = (of: (use: (typeof uses)[number]) => number) =>
      uses.reduce((total, use) => total + of(use), 0)
    return [
      component,
      { cpuMs: sum(({ cpuMs }) => cpuMs), memoryBytes: sum((use) => use.memoryBytes) },
    ] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

/** When a pod's container started, and when the pod became ready; 0: not yet. */
async function startOf(pod: string): Promise<{ readonly startedMs: number; readonly readyMs: number }> {
  const { status } = JSON.parse(await kubectlOk(['-n', namespace, 'get', 'pod', pod, '-o', 'json']))
  const ready = status.conditions?.find(({ type }: { type: string }) => type === 'Ready')
  return {
    startedMs: Date.parse(status.containerStatuses?.[0]?.state?.running?.startedAt ?? '') || 0,
    readyMs: ready?.status === 'True' ? Date.parse(ready.lastTransitionTime) : 0,
  }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`
}
