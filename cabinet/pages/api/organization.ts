import type { organizationHeader, organizationParameter } from '../../api/organization-name.ts'

export const header: typeof organizationHeader = 'organization-id'
const parameter: typeof organizationParameter = 'organization_id'

type Kept = { readonly email: string; readonly id: string }

/** Only for this tab: it survives a reload, and other tabs neither see nor change it. */
const storedAs = 'organization'
let kept = readKept()

/** The organization that this tab shows, which every call names; `undefined` until it is known. */
export function organizationOfTab(): string | undefined {
  return kept?.id
}

/** Shows an organization in this tab from now on. Everything already read belongs to another one: reload the page. */
export function keepOrganization(email: string, id: string): void {
  kept = { email, id }
  store(kept)
}

/** Forgets the organization when a user signs in, unless it is the same user. */
export function forgetOrganization(unlessOf?: string): void {
  if (unlessOf !== undefined && kept?.email.toLowerCase() === unlessOf.trim().toLowerCase()) return
  kept = undefined
  store(undefined)
}

/** Whether this tab shows an organization that another user opened in it. */
export function isOfAnother(email: string): boolean {
  return kept !== undefined && kept.email !== email
}

/** The address of a stream or a file, for clients that cannot send headers. */
export function namingOrganization(address: string): string {
  if (kept === undefined) return address
  return `${address}${address.includes('?') ? '&' : '?'}${parameter}=${kept.id}`
}

/** Browsers may forbid storage. Then the tab keeps its organization until it is reloaded. */
function store(value: Kept | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(storedAs)
    else sessionStorage.setItem(storedAs, JSON.stringify(value))
  } catch {}
}

function readKept(): Kept | undefined {
  try {
    const read: unknown = JSON.parse(sessionStorage.getItem(storedAs) ?? 'null')
    return isKept(read) ? read : undefined
  } catch {
    return undefined
  }
}

function isKept(value: unknown): value is Kept {
  return (
    typeof value === 'object' &&
    value !== null &&
    'email' in value &&
    typeof value.email === 'string' &&
    'id' in value &&
    typeof value.id === 'string'
  )
}
