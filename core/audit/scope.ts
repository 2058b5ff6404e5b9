import type { Pool, QueryResult, QueryResultRow } from 'pg'
import type { Queryable } from '../db/pool.ts'
import { inTransaction } from '../db/transaction.ts'
import { appendChanges, type Call, type Change, type Occasion } from './audit-log.ts'
import { type Fence, holdEpoch } from './cluster-epoch.ts'

/** Who writes, for whom, and with which right. */
export type Scope = Occasion & {
  /** Whose rows may be written; `null`: all rows, for the platform. */
  readonly organizationId: string | null
  /** Where the operator writes: nothing is written once another one leads. */
  readonly fence?: Fence
}

/** The scope of a signed-in user who writes for an organization or, `null`, for themselves. */
export function scopeOfPerson(userId: string, organizationId: string | null, call: Call): Scope {
  return { actor: { kind: 'person', id: userId }, organizationId, call }
}

/** The scope of a program that writes for an organization with a management token. */
export function scopeOfToken(tokenId: string, organizationId: string, call?: Call): Scope {
  return { actor: { kind: 'token', id: tokenId }, organizationId, call }
}

/** The scope of a job for a caller who is not proven to be a user: it writes for the platform. */
export function scopeOfJob(name: string, call: Call): Scope {
  return { actor: { kind: 'job', name }, organizationId: null, call }
}

/** The scope of an administrator, who writes for the platform. `reason`: why, for later audits. */
export function scopeOfAdministrator(administratorId: string, call: Call, reason?: string): Scope {
  const actor = { kind: 'administrator', id: administratorId } as const
  return { actor, organizationId: null, call, reason }
}

/** A bug: a command wrote without saying so, or wrote for another organization than its scope's. */
export class ScopeBreach extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ScopeBreach'
  }
}

/**
 * Runs `work` in one transaction and returns its result, once that is committed with a row of the audit log
 * for each change. Only `work` gets a client that may write. Runs again after a deadlock, as `inTransaction`
 * does.
 *
 * @throws Superseded when the fence's epoch is over: `work` was not even started. ScopeBreach: nothing was
 * written.
 */
export function inScope<Answer>(
  pool: Pool,
  scope: Scope,
  work: (client: ScopedClient) => Promise<Answer>,
): Promise<Answer> {
  return inTransaction(pool, async (client) => {
    if (scope.fence !== undefined) await holdEpoch(client, scope.fence)
    await nameOrganization(client, scope.organizationId)
    const scoped = new ScopedTransaction(client, scope)
    const answer = await work(scoped)
    await scoped.append()
    return answer
  })
}

/**
 * Runs `work` in one transaction that only reads, and sees what an organization owns; `null`: the rows of all, for
 * the platform and to find out who calls.
 *
 * All of it is read from one snapshot.
 */
export function inReadScope<Answer>(
  pool: Pool,
  organizationId: string | null,
  work: (client: Queryable) => Promise<Answer>,
): Promise<Answer> {
  return inTransaction(
    pool,
    async (client) => {
      await nameOrganization(client, organizationId)
      return work(client)
    },
    { isolation: 'repeatable read', readOnly: true },
  )
}

/** Required by the row-level security policies: a transaction that names no organization reads no rows. */
async function nameOrganization(client: Queryable, organizationId: string | null): Promise<void> {
  await client.query("select set_config('model_gateway.organization_id', $1, true)", [
    organizationId ?? 'platform',
  ])
}

/** Changes that wait to be appended together; more would only cost memory. */
const waitingMax = 500

const writingCommands: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** Exported as a type only: nothing but `inScope` can make one. */
class ScopedTransaction implements Queryable {
  readonly #client: Queryable
  readonly #scope: Scope
  #waiting: Change[] = []

  constructor(client: Queryable, scope: Scope) {
    this.#client = client
    this.#scope = scope
  }

  /**
   * Reads, and locks.
   *
   * @throws ScopeBreach if the statement wrote rows, according to the result from Postgres.
   */
  async query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>> {
    const result = await this.#client.query<Row>(text, values)
    if (writingCommands.has(result.command) && result.rowCount !== 0)
      throw new ScopeBreach(`a statement changed rows without a record for the audit log: ${text}`)
    return result
  }

  /**
   * Runs a statement that writes, and notes for the audit log what it did. Answers what the statement returned.
   *
   * @param describe asked only when the statement has written or returned rows; `undefined`: nothing was changed.
   */
  async change<Row extends QueryResultRow>(
    text: string,
    values: unknown[],
    describe: (rows: readonly Row[]) => Change | undefined,
  ): Promise<readonly Row[]> {
    const { rows, rowCount } = await this.#client.query<Row>(text, values)
    const change = rowCount === 0 ? undefined : describe(rows)
    if (change === undefined) return rows
    const { organizationId } = this.#scope
    if (organizationId !== null && change.organizationId !== organizationId)
      throw new ScopeBreach(
        `${change.action} is for ${change.organizationId ?? 'the platform'}, but its scope is organization ${organizationId}`,
      )
    if (this.#waiting.push(change) >= waitingMax) await this.append()
    return rows
  }

  /**
   * Runs a statement that writes without a row of the audit log.
   *
   * @param _reason why none is needed, for readers: the change is audited elsewhere in this transaction or keeps its own
   * record, or it is bookkeeping that changes nothing for a tenant.
   */
  withoutAudit<Row extends QueryResultRow>(
    _reason: string,
    text: string,
    values: unknown[],
  ): Promise<QueryResult<Row>> {
    return this.#client.query<Row>(text, values)
  }

  /** Appends the changes that wait. `inScope` does so before it commits. */
  async append(): Promise<void> {
    const changes = this.#waiting
    this.#waiting = []
    if (changes.length > 0) await appendChanges(this.#client, this.#scope, changes)
  }
}

/** A client that may write within a scope, until its transaction ends. */
export type ScopedClient = ScopedTransaction
