import type { Access, Caller, TokenBearer } from './access.ts'
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

/** How a process recognizes programs that call with a management token. */
export type TokenGate = {
  /** Whether a text in `Authorization` has the form of a token. Pure. */
  isToken(text: string): boolean
  /**
   * Finds the bearer of a token as required by an endpoint's access, or returns a problem.
   *
   * @param organizationId the organization that the call names, if it names one.
   * @throws Postgres errors, or that Postgres is unavailable: an outage is never a 401.
   */
  findBearer(
    access: Access,
    text: string,
    organizationId: string | undefined,
  ): Promise<{ readonly caller: TokenBearer } | { readonly problem: Problem }>
}
