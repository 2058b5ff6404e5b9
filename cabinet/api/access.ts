/** A permission of an organization's member. */
export type Right = (typeof rights)[number]

/** All permissions. */
export const rights = [
  'keys.read',
  'keys.write',
  'usage.read',
  'billing.read',
  'billing.write',
  'organization.read',
  'organization.write',
  'team.write',
] as const

/** All roles. */
export const memberRoles = ['owner', 'developer', 'accountant'] as const

/** A user's role in an organization. */
export type MemberRole = (typeof memberRoles)[number]

/** The callers that an endpoint accepts. */
export type Access =
  /** Everyone. The session is not read. */
  | { readonly to: 'anyone' }
  /** A user who has entered a password and must still enter a code. */
  | { readonly to: 'half_signed_in' }
  /** A signed-in user. */
  | { readonly to: 'person' }
  /** A member of the organization that the call names. `confirmed`: only with a confirmed address. */
  | { readonly to: 'member'; readonly right: Right; readonly confirmed?: true }
  /** An administrator; `again`: one who entered a code at most 5 minutes ago. */
  | { readonly to: 'administrator'; readonly again?: true }

/** A signed-in user. */
export type Person = {
  readonly userId: string
  readonly email: string
  /** The language of the user's emails. */
  readonly locale: Locale
  readonly isConfirmed: boolean
  readonly sessionId: string
  /** Whether sign-in requires a second factor. */
  readonly hasTotp: boolean
  /** When the session last passed the second factor. */
  readonly mfaAt: Date | null
}

/** A user who acts for an organization. */
export type Member = Person & { readonly organizationId: string; readonly memberRole: MemberRole }

/** An administrator, whose account and session are separate from those of users. */
export type Administrator = {
  readonly administratorId: string
  readonly email: string
  readonly sessionId: string
  /** When a code was last accepted in the session. */
  readonly mfaAt: Date
}

/** The caller of an endpoint; `undefined`: any, whose session is not read. */
export type Caller = Person | Member | Administrator | undefined

export type Locale = 'ru' | 'en'

/** The permissions of each role. */
export const rightsOf: Readonly<Record<MemberRole, readonly Right[]>> = {
  owner: rights,
  developer: ['keys.read', 'keys.write', 'usage.read', 'organization.read'],
  accountant: ['usage.read', 'billing.read', 'billing.write', 'organization.read'],
}

/** Whether this role has this permission. Pure. */
export function mayDo(role: MemberRole, right: Right): boolean {
  return rightsOf[role].includes(right)
}
