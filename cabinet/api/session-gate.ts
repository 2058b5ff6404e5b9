import type { Access, Caller } from './access.ts'
import type { Problem } from './problem.ts'

/** How a process recognizes its callers. */
export type SessionGate = {
  readonly cookies: {
    /** Names differ by process, because browsers send a host's cookies to all its ports. */
    readonly session: string
    readonly device: string
    readonly sameSite: 'lax' | 'strict'
  }
  /**
   * Finds the caller as required by an endpoint's access, or returns a problem.
   *
   * @param organizationId the organization that the call names. It is not checked yet.
   * @throws Postgres errors, or that Postgres is unavailable: an outage is never a 401.
   */
  findCaller(
    access: Access,
    token: string | undefined,
    organizationId: string | undefined,
  ): Promise<{ readonly caller: Caller } | { readonly problem: Problem }>
}
