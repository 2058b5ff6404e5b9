import type { Problem } from '../../api/problem.ts'
import { workMax } from '../../api/proof-of-work.ts'
import type { Rate, Throttles } from '../../api/throttles.ts'

/**
 * Tries of one account on one device that it knows, counted before they are made, so that fifty at once do not all pass.
 * After five each further pair waits four times longer, up to half an hour: some 500 tries a day.
 */
const passwordSteps: readonly Rate[] = [
  { name: 'password_5', count: 5, perS: 30 },
  { name: 'password_7', count: 7, perS: 120 },
  { name: 'password_9', count: 9, perS: 480 },
  { name: 'password_11', count: 11, perS: 1_920 },
]

/** Tries of an account from all other devices: after these a proof of work, harder with every five more. */
const elsewhere: Rate = { name: 'password_elsewhere', count: 5, perS: 86_400 }

/** A code has a million values, and three are good at any time. */
const codeSteps: readonly Rate[] = [{ name: 'totp', count: 5, perS: 900 }]

/** Where tries of an account come from: those of one place never count against those of another. */
export type Place = {
  /** A device that the account knows, or a session of its own. `undefined`: somewhere else. */
  readonly known: string | undefined
  /** What was proven with this try. */
  readonly work: number
}

/** Tries of one account. */
export type Attempts = {
  /** Counts one. Answers why it must not be made, if so; that one does not count. */
  begin(account: string, place: Place): Promise<Problem | undefined>
  /** One has succeeded: the others of its place are forgotten. */
  forget(account: string, known: string | undefined): Promise<void>
}

/** Tries of a password, by address: of an unknown one, too. */
export function passwordAttempts(throttles: Throttles): Attempts {
  return {
    async begin(email, { known, work }) {
      const account = plainLetters(email)
      if (known !== undefined) return waitOf(throttles, passwordSteps, placeName(account, known))
      const needed = workAfter(await throttles.tally(elsewhere, account))
      // A challenge is solved while others try: half of what is asked for by now will do.
      if (2 * work >= needed) return undefined
      await throttles.takeBack(elsewhere, account)
      return { code: 'proof_of_work_required', work: needed }
    },
    async forget(email, known) {
      const account = plainLetters(email)
      if (known === undefined) await throttles.clear(elsewhere, account)
      else await clearAll(throttles, passwordSteps, placeName(account, known))
    },
  }
}

/** The work that so many tries of an account from elsewhere ask for. Pure. */
export function workAfter(tryCount: number): number {
  return Math.min(workMax, Math.max(0, Math.ceil((tryCount - elsewhere.count) / elsewhere.count)))
}

/**
 * Tries of a code, by user id. No work stands in for the wait here: who guesses has the password already, and a million
 * codes are few.
 */
export function codeAttempts(throttles: Throttles): Attempts {
  return {
    begin: (userId, { known }) => waitOf(throttles, codeSteps, placeName(userId, known)),
    forget: (userId, known) => clearAll(throttles, codeSteps, placeName(userId, known)),
  }
}

function placeName(account: string, known: string | undefined): string {
  return known === undefined ? account : `${account} ${known}`
}

async function waitOf(
  throttles: Throttles,
  steps: readonly Rate[],
  name: string,
): Promise<Problem | undefined> {
  for (const step of steps) {
    const retryAfterS = await throttles.count(step, name)
    if (retryAfterS > 0) return { code: 'rate_limited', retryAfterS }
  }
  return undefined
}

async function clearAll(throttles: Throttles, steps: readonly Rate[], name: string): Promise<void> {
  await Promise.all(steps.map((step) => throttles.clear(step, name)))
}

/**
 * An address as it is counted. Coarser than `lower()` of any database: `İ` may be an `i` there, and each spelling of an
 * address would have its own tries.
 */
function plainLetters(email: string): string {
  return email.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase()
}
