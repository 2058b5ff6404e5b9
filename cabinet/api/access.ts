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
  'tokens.write',
] as const

/** All roles. */
export const memberRoles = ['owner', 'developer', 'accountant'] as const

/** A user's role in an organization. */
export type MemberRole = (typeof memberRoles)[number]

/** What a management token may be used for. */
export const tokenScopes = ['keys', 'usage', 'billing'] as const

export type TokenScope = (typeof tokenScopes)[number]

/** The callers that an endpoint accepts. */
export type Access =
  /** Everyone. The session is not read. */
  | { readonly to: 'anyone' }
  /** A user who has entered a password and must still enter a code. */
  | { readonly to: 'half_signed_in' }
  /** A signed-in user. */
  | { readonly to: 'person' }
  /**
   * A member of the organization that the call names. `confirmed`: only with a confirmed address. `tokens`: also a
   * management token whose scopes have the permission.
   */
  | { readonly to: 'member'; readonly right: Right; readonly confirmed?: true; readonly tokens?: true }
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

/** A program that acts for an organization with a management token, and for no user. */
export type TokenBearer = {
  readonly tokenId: string
  readonly organizationId: string
  readonly tokenScopes: readonly TokenScope[]
}

/** A caller who acts for an organization. */
export type OrganizationCaller = Member | TokenBearer

/** An administrator, whose account and session are separate from those of users. */
export type Administrator = {
  readonly administratorId: string
  readonly email: string
  readonly sessionId: string
  /** When a code was last accepted in the session. */
  readonly mfaAt: Date
}

/** The caller of an endpoint; `undefined`: any, whose session is not read. */
export type Caller = Person | OrganizationCaller | Administrator | undefined

export type Locale = 'ru' | 'en'

/** The permissions of each role. */
export const rightsOf: Readonly<Record<MemberRole, readonly Right[]>> = {
  owner: rights,
  developer: ['keys.read', 'keys.write', 'usage.read', 'organization.read'],
  accountant: ['usage.read', 'billing.read', 'billing.write', 'organization.read'],
}

/** The permissions of each scope. No scope changes money, members or tokens. */
const rightsOfScope: Readonly<Record<TokenScope, readonly Right[]>> = {
  keys: ['keys.read', 'keys.write'],
  usage: ['usage.read'],
  billing: ['billing.read'],
}

/** Whether this role has this permission. Pure. */
export function mayDo(role: MemberRole, right: Right): boolean {
  return rightsOf[role].includes(right)
}

/** The scope that a token needs for this permission; `undefined`: no token has it. Pure. */
export function scopeWith(right: Right): TokenScope | undefined {
  return tokenScopes.find((scope) => rightsOfScope[scope].includes(right))
}

/** Whether a caller has this permission in the organization. Pure. */
export function hasRight(caller: CallerRights, right: Right): boolean {
  if ('memberRole' in caller) return mayDo(caller.memberRole, right)
  const scope = scopeWith(right)
  return scope !== undefined && caller.tokenScopes.includes(scope)
}

type CallerRights = Pick<Member, 'memberRole'> | Pick<TokenBearer, 'tokenScopes'>
