import type { Rate, Throttles } from '../../api/throttles.ts'

/**
 * Tries of one account, counted before they are made, so that fifty at once do not all pass. After five each further pair
 * waits four times longer, up to half an hour: some 500 tries a day, and nobody is locked out for good.
 */
const passwordSteps: readonly Rate[] = [
  { name: 'password_5', count: 5, perS: 30 },
  { name: 'password_7', count: 7, perS: 120 },
  { name: 'password_9', count: 9, perS: 480 },
  { name: 'password_11', count: 11, perS: 1_920 },
]

/** A code has a million values, and three are good at any time. */
const codeSteps: readonly Rate[] = [{ name: 'totp', count: 5, perS: 900 }]

/** Tries of one account. */
export type Attempts = {
  /** Counts one. Answers the seconds to wait if it must not be made, else 0. */
  begin(account: string): Promise<number>
  /** One has succeeded: the others are forgotten. */
  forget(account: string): Promise<void>
}

/** Tries of a password, by address: of an unknown one, too. */
export function passwordAttempts(throttles: Throttles): Attempts {
  return attemptsOf(throttles, passwordSteps, plainLetters)
}

/** Tries of a code, by user id. */
export function codeAttempts(throttles: Throttles): Attempts {
  return attemptsOf(throttles, codeSteps, (userId) => userId)
}

/**
 * An address as it is counted. Coarser than `lower()` of any database: `İ` may be an `i` there, and each spelling of an
 * address would have its own tries.
 */
function plainLetters(email: string): string {
  return email.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase()
}

function attemptsOf(
  throttles: Throttles,
  steps: readonly Rate[],
  nameOf: (account: string) => string,
): Attempts {
  return {
    async begin(account) {
      for (const step of steps) {
        const waitS = await throttles.count(step, nameOf(account))
        if (waitS > 0) return waitS
      }
      return 0
    },
    async forget(account) {
      await Promise.all(steps.map((step) => throttles.clear(step, nameOf(account))))
    },
  }
}
