/** What is said about one side of a resource: a condition without its type and times. */
export type Verdict = {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  /** A sentence for a person; never a secret. */
  readonly message: string
}

/** It is so. */
export function yes(reason: string, message = ''): Verdict {
  return { status: 'True', reason, message }
}

/** It is not, and this is why. */
export function no(reason: string, message: string): Verdict {
  return { status: 'False', reason, message }
}

/** Nobody can tell yet. */
export function unknown(reason: string, message: string): Verdict {
  return { status: 'Unknown', reason, message }
}

/** What depends on something that is not there. */
export const pending = unknown('Pending', '')

/** The summary `Ready`: the first verdict that is False, else the first that nobody can tell, else `whenAll`. */
export function summaryOf(verdicts: readonly Verdict[], whenAll: Verdict): Verdict {
  return (
    verdicts.find(({ status }) => status === 'False') ??
    verdicts.find(({ status }) => status === 'Unknown') ??
    whenAll
  )
}
