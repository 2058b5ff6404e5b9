/** A condition without its type and times. */
export type Verdict = {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  /** A sentence for a person; never a secret. */
  readonly message: string
}

/** True. */
export function yes(reason: string, message = ''): Verdict {
  return { status: 'True', reason, message }
}

/** False, and why. */
export function no(reason: string, message: string): Verdict {
  return { status: 'False', reason, message }
}

/** Unknown, and why. */
export function unknown(reason: string, message: string): Verdict {
  return { status: 'Unknown', reason, message }
}

/** For what depends on something that does not exist yet. */
export const pending = unknown('Pending', '')

/**
 * The summary `Ready`: the first condition that is False, otherwise the first that is Unknown, otherwise
 * `whenAll`.
 */
export function summaryOf(verdicts: readonly Verdict[], whenAll: Verdict): Verdict {
  return (
    verdicts.find(({ status }) => status === 'False') ??
    verdicts.find(({ status }) => status === 'Unknown') ??
    whenAll
  )
}
