import type { AttemptGate } from '../routing/attempt-gate.ts'
import type { Provider, RouteTable } from '../routing/route-table.ts'
import type { Failure } from '../upstream/failure.ts'
import type { ProviderCalls } from '../upstream/provider-call.ts'
import { troubleOf } from '../upstream/trouble.ts'
import { checkerOf } from './internal/checker-of.ts'
import { listModels } from './internal/list-models.ts'

/** Between two checks of a provider that has not changed. */
const checkEveryMs = 600_000
/** Part of it by which checks are spread, so that those of one start do not stay together. */
const spread = 0.1
/** Delay after a first failure that is no rejection: a single failure is not reported. */
const againMs = 10_000
/** How often to see what is due. */
const lookEveryMs = 250
/** Parallel checks: a thousand unavailable providers must not become a thousand connections. */
const runningMax = 4

export type HealthCheckDeps = {
  readonly calls: Pick<ProviderCalls, 'call'>
  readonly gate: Pick<AttemptGate, 'enterList'>
  readonly table: () => RouteTable | undefined
  /** Names of the gateways that may live. */
  readonly gateways: () => readonly string[]
  /** Of this gateway among them. */
  readonly instanceId: string
  readonly connectMs: number
  /** Hears of each check: a provider as the catalog names it, `listed` or a word of `upstream/failure.ts`. */
  readonly onChecked: (provider: string, result: string) => void
  readonly onCrash: (error: unknown) => void
  /** `performance.now`. */
  readonly nowMs: () => number
  readonly random: () => number
}

/** Of one document of a provider. */
type Check = { readonly provider: Provider; dueAtMs: number; failures: number; isRunning: boolean }

/**
 * Lists the models of each provider that asks for it, once after each change and then every 10 minutes, and
 * passes the result to the gate. One gateway does so for each provider. No model is called, so no
 * organization is charged.
 */
export function startHealthChecks(deps: HealthCheckDeps): { stop(): void } {
  let checks = new Map<string, Check>()
  let followed: RouteTable | undefined
  /** Providers that this gateway checks, as of these gateways and this table. */
  let ours: { readonly of: string; readonly names: ReadonlySet<string> } = { of: '', names: new Set() }

  /** The checks of the present table: a changed provider is another one, and due. */
  function follow(table: RouteTable): void {
    if (table === followed) return
    followed = table
    const { providers } = table
    const checked = providers.filter(({ healthCheck }) => healthCheck !== undefined)
    checks = new Map(
      checked.map((provider) => {
        const known = checks.get(provider.name)
        const isSame = known?.provider === provider
        return [provider.name, isSame ? known : { provider, dueAtMs: 0, failures: 0, isRunning: false }]
      }),
    )
  }

  function namesToCheck({ revision }: RouteTable): ReadonlySet<string> {
    const gateways = deps.gateways()
    const of = [revision, ...gateways].join()
    if (of !== ours.of) {
      const names = [...checks.keys()].filter((name) => checkerOf(name, gateways) === deps.instanceId)
      ours = { of, names: new Set(names) }
    }
    return ours.names
  }

  async function run(check: Check, end: (listed: ReturnType<typeof shownBy>) => void): Promise<void> {
    check.isRunning = true
    const { provider } = check
    try {
      const listed = await listModels(deps.calls, provider, deps.connectMs)
      check.failures = listed === 'listed' ? 0 : check.failures + 1
      const shown = shownBy(listed)
      const isOneMoment = check.failures === 1 && shown !== 'unauthorized' && shown !== 'unknown'
      end(isOneMoment ? 'unknown' : shown)
      check.dueAtMs = deps.nowMs() + (isOneMoment ? againMs : nextMs(deps.random()))
      deps.onChecked(provider.name, listed === 'listed' ? listed : listed.result)
    } catch (error) {
      check.dueAtMs = deps.nowMs() + checkEveryMs
      deps.onCrash(error)
    } finally {
      check.isRunning = false
    }
  }

  function look(): void {
    const table = deps.table()
    if (table === undefined) return
    follow(table)
    const names = namesToCheck(table)
    let runningCount = [...checks.values()].filter(({ isRunning }) => isRunning).length
    for (const [name, check] of checks) {
      if (runningCount >= runningMax) return
      if (check.isRunning || check.dueAtMs > deps.nowMs()) continue
      if (!names.has(name)) continue
      const end = deps.gate.enterList(check.provider)
      if (end === undefined) continue // its limit is used up: requests go first
      runningCount += 1
      void run(check, end)
    }
  }

  const timer = setInterval(look, lookEveryMs)
  return { stop: () => clearInterval(timer) }
}

/**
 * The result of a check for a provider. An overloaded provider is reachable, which proves nothing about the
 * credential.
 */
function shownBy(listed: 'listed' | Failure) {
  if (listed === 'listed') return 'good'
  const trouble = troubleOf(listed)
  return trouble === 'overloaded' ? 'unknown' : trouble
}

function nextMs(random: number): number {
  return checkEveryMs * (1 - spread + 2 * spread * random)
}
