import { administratorEndpoints } from '../../administrators/administrator-endpoints.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import { approvalEndpoints } from '../../approvals/approval-endpoints.ts'
import { totpResetEndpoints } from '../../approvals/totp-reset-endpoints.ts'
import { catalogAdministrationEndpoints } from '../../catalog/catalog-administration-endpoints.ts'
import { legalAdministrationEndpoints } from '../../legal/legal-administration-endpoints.ts'
import { approvedWriteOffs } from '../../operations/approved-write-offs.ts'
import { operationEndpoints } from '../../operations/operation-endpoints.ts'
import { approvedRefunds } from '../../payments/approved-refunds.ts'
import { oversightEndpoints } from '../../payments/oversight-endpoints.ts'
import { administrationEndpoints } from '../../support/administration-endpoints.ts'
import { customerEndpoints } from '../../support/customer-endpoints.ts'

type Deps = Parameters<typeof administratorEndpoints>[0] &
  Parameters<typeof administrationEndpoints>[0] &
  Parameters<typeof customerEndpoints>[0] &
  Parameters<typeof oversightEndpoints>[0] &
  Parameters<typeof operationEndpoints>[0] &
  Parameters<typeof catalogAdministrationEndpoints>[0]

/** All endpoints of the administration process. */
export function allEndpoints(deps: Deps): readonly Endpoint[] {
  return [
    ...administratorEndpoints(deps),
    ...administrationEndpoints(deps),
    ...customerEndpoints(deps),
    ...oversightEndpoints(deps),
    ...approvalEndpoints({ pool: deps.pool, refunds: approvedRefunds(deps), writeOffs: approvedWriteOffs }),
    ...totpResetEndpoints(deps.pool),
    ...legalAdministrationEndpoints(deps),
    ...catalogAdministrationEndpoints(deps),
    ...operationEndpoints(deps),
  ]
}
