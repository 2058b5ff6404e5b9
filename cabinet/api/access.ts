/** What a member of an organization may do there. */
export type Right = (typeof rights)[number]

/** Every right that there is. */
export const rights = [
  ...(['keys.read', 'keys.write', 'usage.read'] as const),
  ...(['billing.read', 'billing.write', 'organization.read', 'organization.write'] as const),
] as const

/** What somebody is in an organization. So far everybody is the owner of one; the others come with teams. */
export type MemberRole = 'owner' | 'developer' | 'accountant'

/** Who may call an endpoint. */
export type Access =
  /** Everybody; who calls is not even looked up. */
  | { readonly to: 'anyone' }
  /** Whoever has given a password, and still has to enter a code. */
  | { readonly to: 'half_signed_in' }
  /** Whoever has signed in. */
  | { readonly to: 'person' }
  /** A member of an organization, for that organization. `confirmed`: only with a confirmed address. */
  | { readonly to: 'member'; readonly right: Right; readonly confirmed?: true }
  /** An administrator whose session has passed the second factor; `again`: at most 5 minutes ago. */
  | { readonly to: 'administrator'; readonly again?: true }

/** Somebody who has signed in. */
export type Person = {
  readonly userId: string
  readonly email: string
  readonly role: 'user' | 'admin'
  /** Of the letters that are sent. */
  readonly locale: Locale
  readonly isConfirmed: boolean
  readonly sessionId: string
  /** Whether a second factor is asked for when this person signs in. */
  readonly hasTotp: boolean
  /** When the session last passed it. */
  readonly mfaAt: Date | null
}

/** A person who acts for an organization. */
export type Member = Person & { readonly organizationId: string; readonly memberRole: MemberRole }

export type Locale = 'ru' | 'en'

/** What each role carries. */
export const rightsOf: Readonly<Record<MemberRole, readonly Right[]>> = {
  owner: rights,
  developer: ['keys.read', 'keys.write', 'usage.read', 'organization.read'],
  accountant: ['keys.read', 'usage.read', 'billing.read', 'billing.write', 'organization.read'],
}

/** Whether this role carries this right. Pure. */
export function mayDo(role: MemberRole, right: Right): boolean {
  return rightsOf[role].includes(right)
}
