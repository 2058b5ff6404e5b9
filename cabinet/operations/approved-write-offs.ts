import type { ApprovedWriteOffs } from '../approvals/approval-endpoints.ts'
import { problemOf } from './internal/decision-problem.ts'
import { decideRejectedCharge, holdRejectedCharge } from './internal/rejected-charges.ts'

/** Carries out write-offs that another administrator has approved. They are made by who requested them. */
export const approvedWriteOffs: ApprovedWriteOffs = {
  async make(client, { chargeId, by, reason }) {
    await holdRejectedCharge(client, chargeId)
    const problem = problemOf(
      await decideRejectedCharge(client, chargeId, { decision: 'written_off', by, reason }),
    )
    return problem === undefined ? undefined : { problem }
  },
}
