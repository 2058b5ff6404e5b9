import type { Queryable } from '../db/pool.ts'
import { keptAddress } from './internal/kept-address.ts'

/** Who writes. */
type Actor =
  /** A user who has signed in. */
  | { readonly kind: 'person' | 'administrator'; readonly id: string }
  /** A program with a management token. */
  | { readonly kind: 'token'; readonly id: string }
  /** An object of a cluster, for which the operator writes. */
  | {
      readonly kind: 'resource'
      /** The uid of the cluster's `kube-system`. */
      readonly clusterId: string
      readonly resource: { readonly kind: string; readonly namespace: string; readonly name: string }
    }
  /** A command line, such as `npm run organization`. */
  | { readonly kind: 'command'; readonly name: string }
  /** A job of the system, requested by no user. */
  | { readonly kind: 'job'; readonly name: string }

type SubjectKind =
  | 'Organization'
  | 'User'
  | 'Administrator'
  | 'Administration'
  | 'Approval'
  | 'ApiKey'
  | 'ManagementToken'
  | 'ModelProvider'
  | 'ModelRoute'
  | 'Payment'
  | 'PaymentDifference'
  | 'RejectedCharge'
  | 'LegalDocument'
  | 'Search'
  | 'Email'

/** One change in the audit log. `before` and `after` never hold a secret or the hash of one. */
export type Change = {
  /** `<subject>.<verb>`, such as `key.set_limits`. */
  readonly action: string
  readonly subject: { readonly kind: SubjectKind; readonly id: string }
  /** Whose it is; `null`: the platform's. */
  readonly organizationId: string | null
  /** Only what the change touches; `null`: there was nothing. Amounts are decimal strings. */
  readonly before: Facts | null
  readonly after: Facts | null
}

export type Facts = Readonly<Record<string, unknown>>

/** The call of the API that asked for a change. */
export type Call = {
  readonly requestId: string
  /** Its session, if it has one. Never the cookie. */
  readonly sessionId: string | undefined
  /** Of the caller. */
  readonly address: string
}

/** Why the actor writes, in their own words, and the call that asked for it. */
export type Occasion = {
  readonly actor: Actor
  readonly reason?: string | undefined
  readonly call?: Call | undefined
}

/** Rows keep as many first characters of a session's id: they distinguish the sessions of one actor. */
export const sessionIdLength = 8

/** Appends changes, in their order, in one statement. */
export async function appendChanges(
  client: Queryable,
  { actor, reason, call }: Occasion,
  changes: readonly Change[],
): Promise<void> {
  await client.query(
    `insert into audit_log (actor_kind, actor_id, reason, request_id, session_id, address,
                            action, subject_kind, subject_id, organization_id, before, after)
     select $1, $2, $3, $4, $6, $7, c.action, c.subject ->> 'kind', c.subject ->> 'id', c."organizationId", c.before, c.after
       from jsonb_to_recordset($5)
         as c (action text, subject jsonb, "organizationId" uuid, before jsonb, after jsonb)`,
    [
      actor.kind,
      actorId(actor),
      reason ?? null,
      call?.requestId ?? null,
      jsonOf(changes),
      call?.sessionId?.slice(0, sessionIdLength) ?? null,
      call === undefined ? null : keptAddress(actor.kind, call.address),
    ],
  )
}

/** A resource reads as in `kubectl`'s own messages, after its cluster. */
function actorId(actor: Actor): string {
  switch (actor.kind) {
    case 'person':
    case 'administrator':
    case 'token':
      return actor.id
    case 'resource': {
      const { kind, namespace, name } = actor.resource
      return [actor.clusterId, kind, namespace, name].join('/')
    }
    case 'command':
    case 'job':
      return actor.name
  }
}

function jsonOf(changes: readonly Change[]): string {
  return JSON.stringify(changes, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}
