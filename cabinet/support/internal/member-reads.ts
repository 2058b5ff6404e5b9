import type { Administrator, Member } from '../../api/access.ts'
import type { Contract } from '../../api/contract.ts'
import type { Endpoint, Output, Visit } from '../../api/endpoint.ts'

type Asked = {
  readonly caller: Administrator
  readonly organizationId: string
  readonly visit: Visit
  readonly params?: object
  readonly query?: object
}

/** The response of a member's endpoint for an organization that the administrator names. */
export type MemberReads = <C extends Contract>(contract: C, asked: Asked) => Promise<Output<C>>

/** Answers by these endpoints of members. They must only read: what they wrote would be in a user's name. */
export function memberReads(endpoints: readonly Endpoint[]): MemberReads {
  const handlers = new Map(
    endpoints
      .filter(({ contract }) => contract.method === 'GET')
      .map(({ contract, handle }) => [contract.operation, handle]),
  )
  return async (contract, { caller, organizationId, ...asked }) => {
    const handle = handlers.get(contract.operation)
    if (handle === undefined) throw new Error(`no endpoint that reads ${contract.operation}`)
    const member = ownerOf(organizationId, caller)
    return (await handle({ params: {}, query: {}, ...asked, caller: member } as never)) as never
  }
}

/** A member who may read everything of an organization. */
function ownerOf(
  organizationId: string,
  { administratorId, email, sessionId, mfaAt }: Administrator,
): Member {
  return {
    userId: administratorId,
    email,
    locale: 'ru',
    isConfirmed: true,
    sessionId,
    hasTotp: true,
    mfaAt,
    organizationId,
    memberRole: 'owner',
  }
}
