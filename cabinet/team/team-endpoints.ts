import type { Pool } from 'pg'
import type { Endpoint } from '../api/endpoint.ts'
import { invitationEndpoints } from './internal/invitation-endpoints.ts'
import { memberEndpoints } from './internal/member-endpoints.ts'
import { receivedEndpoints } from './internal/received-endpoints.ts'

type Deps = { readonly pool: Pool; readonly appUrl: string }

/** Endpoints for the members of an organization, and for invitations as sent and as received. */
export function teamEndpoints(deps: Deps): readonly Endpoint[] {
  return [...memberEndpoints(deps), ...invitationEndpoints(deps), ...receivedEndpoints(deps)]
}
