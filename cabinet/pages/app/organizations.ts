import { useEffect } from 'react'
import { call } from '../api/call.ts'
import { forgetOrganization, isOfAnother, keepOrganization, organizationOfTab } from '../api/organization.ts'
import { queryClient } from '../api/query-client.ts'
import { leaveOnceAllowed, mayLeave } from '../navigation/stay-here.ts'
import { type Me, useMe } from './me.ts'

/** Keeps the organization that this tab begins with, so that another tab's choice changes nothing here. */
export function useKeptOrganization(): void {
  const me = useMe().data
  useEffect(() => {
    if (me === undefined) return
    if (isOfAnother(me.email)) {
      if (!mayLeave()) return // the page is reloaded once a shown secret is closed
      forgetOrganization()
      void queryClient.resetQueries()
    } else if (organizationOfTab() === undefined && me.organization !== null)
      keepOrganization(me.email, me.organization.id)
  }, [me])
}

/** Shows another organization in this tab, and in tabs opened later. Waits until a shown secret is closed. */
export function openOrganization({ email }: Pick<Me, 'email'>, id: string): void {
  leaveOnceAllowed(async () => {
    keepOrganization(email, id)
    await call('PATCH /me', { body: { organization_id: id } }).catch(() => undefined) // only where new tabs begin
    location.assign('/app')
  })
}

/** What an organization is called. Pure. */
export function nameOf({ display_name, name }: Pick<Me['organizations'][number], 'display_name' | 'name'>) {
  return display_name ?? name
}
