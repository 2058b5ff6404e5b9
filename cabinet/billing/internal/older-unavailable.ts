import { ArchiveProblem, ArchiveUnavailable } from '#core/archive/archive-store'

const olderUnavailable = { problem: { code: 'older_requests_unavailable' } } as const

/** The answer of `work`, or a problem if it needs requests that left Postgres and the archive does not answer. */
export async function orOlderUnavailable<Answer>(
  work: () => Promise<Answer>,
): Promise<Answer | typeof olderUnavailable> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ArchiveUnavailable || error instanceof ArchiveProblem) return olderUnavailable
    throw error
  }
}
