import type { Problem } from '../api/problem.ts'
import { workMax } from '../api/proof-of-work.ts'
import type { Rate, Throttles } from '../api/throttles.ts'

/**
 * Password attempts on one account from one known device. They are counted before the check, so that fifty concurrent
 * attempts do not all pass. After five attempts, each further pair waits four times longer, up to half an hour: about
 * 500 attempts a day.
 */
const passwordSteps: readonly Rate[] = [
  { name: 'password_5', count: 5, perS: 30 },
  { name: 'password_7', count: 7, perS: 120 },
  { name: 'password_9', count: 9, perS: 480 },
  { name: 'password_11', count: 11, perS: 1_920 },
]

/**
 * Attempts on an account from all other devices. After these, a proof of work is required, and it gets harder with
 * every five more.
 */
const elsewhere: Rate = { name: 'password_elsewhere', count: 5, perS: 86_400 }

/** A code has a million values, and three are valid at any time. */
const codeSteps: readonly Rate[] = [{ name: 'totp', count: 5, perS: 900 }]

/** The origin of attempts on an account. Attempts from one place never count against those from another. */
export type Place = {
  /** A device known to the account, or the account's own session. `undefined`: anywhere else. */
  readonly known: string | undefined
  /** The work proven with this attempt. */
  readonly work: number
}

/** Attempts on one account. */
export type Attempts = {
  /** Counts an attempt. Returns a problem if the attempt must not be made; such attempts do not count. */
  begin(account: string, place: Place): Promise<Problem | undefined>
  /** After a success, resets the count of its place. */
  forget(account: string, known: string | undefined): Promise<void>
}

/** Password attempts, by address. Unknown addresses are counted, too. */
export function passwordAttempts(throttles: Throttles): Attempts {
  return {
    async begin(email, { known, work }) {
      const account = plainLetters(email)
      if (known !== undefined) return waitOf(throttles, passwordSteps, placeName(account, known))
      const needed = workAfter(await throttles.tally(elsewhere, account))
      // Other attempts may come while a challenge is solved, so half of the work required by now is enough.
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

/** The work required after this many attempts on an account from elsewhere. Pure. */
export function workAfter(tryCount: number): number {
  return Math.min(workMax, Math.max(0, Math.ceil((tryCount - elsewhere.count) / elsewhere.count)))
}

/**
 * Code attempts, by user ID. Work does not replace the wait here: the attacker already has the password, and a million
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
 * The address as counted. Coarser than the `lower()` of any database: `İ` may become `i` there, and each spelling
 * would be counted separately.
 */
function plainLetters(email: string): string {
  return email.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase()
}
