import type { Change, Facts } from './audit-log.ts'

/** A row of the audit log about an organization itself. Pure. */
export function changeOfOrganization(
  action: string,
  organizationId: string,
  before: Facts | null,
  after: Facts | null,
): Change {
  return {
    action,
    subject: { kind: 'Organization', id: organizationId },
    organizationId,
    before,
    after,
  }
}
