import type { Pool } from 'pg'
import { inReadScope } from '../audit/scope.ts'
import type { Hint } from '../db/change-hints.ts'
import { readKeyStates } from './key-state.ts'

/** Waits until the data plane has keys as they were committed. */
export type ProgrammedKeys = {
  /**
   * Whether the data plane has this key and its secrets as they are now: every request that begins after `true` sees
   * them so. `false` after 2 s, or at once where too many wait already.
   */
  wait(keyId: string): Promise<boolean>
  /** Checks now. Without hints it checks every 100 ms while a caller waits. */
  onHint(hint: Hint): void
}

type Waiter = { readonly keyId: string; end(isProgrammed: boolean): void }

const waitMsMax = 2_000
const lookEveryMs = 100
/** All of them are looked up by one statement. */
const waitingMax = 200

/** One per process: all waiting callers share its statements. */
export function createProgrammedKeys(pool: Pool): ProgrammedKeys {
  const waiting = new Set<Waiter>()
  let isLooking = false
  let isDue = false

  /** Ends those who wait already: what it reads is as new as what they have committed. */
  async function lookOnce(): Promise<void> {
    const asking = [...waiting]
    const keyIds = asking.map(({ keyId }) => keyId)
    const keys = await inReadScope(pool, null, (client) => readKeyStates(client, keyIds))
    const programmed = new Set(keys.filter(({ isProjected }) => isProjected).map(({ keyId }) => keyId))
    for (const waiter of asking) if (programmed.has(waiter.keyId)) waiter.end(true)
  }

  /** One check at a time: any requests during it cause one more. */
  async function look(): Promise<void> {
    isDue = true
    if (isLooking) return
    isLooking = true
    while (isDue && waiting.size > 0) {
      isDue = false
      // while Postgres is unavailable the answer is unknown, and the wait is bounded
      await lookOnce().catch(() => undefined)
    }
    isLooking = false
  }

  return {
    wait(keyId) {
      if (waiting.size >= waitingMax) return Promise.resolve(false)
      return new Promise((resolve) => {
        const waiter: Waiter = {
          keyId,
          end(isProgrammed) {
            clearTimeout(timeout)
            clearInterval(looking)
            waiting.delete(waiter)
            resolve(isProgrammed)
          },
        }
        const timeout = setTimeout(() => waiter.end(false), waitMsMax)
        const looking = setInterval(look, lookEveryMs)
        waiting.add(waiter)
        void look()
      })
    },
    onHint(hint) {
      const isOfKeys = hint.kind === 'everything' || (hint.kind === 'programmed' && hint.what === 'keys')
      if (isOfKeys && waiting.size > 0) void look()
    },
  }
}
