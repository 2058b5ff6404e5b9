import { notFound, type Problem } from '../../api/problem.ts'
import type { DecisionOutcome } from './rejected-charges.ts'

/** Why a rejected charge was not decided; `undefined`: it was. Pure. */
export function problemOf(outcome: DecisionOutcome | undefined): Problem | undefined {
  switch (outcome) {
    case 'posted':
    case 'written_off':
      return undefined
    case 'rejected':
      return { code: 'charge_rejected_again' }
    case 'unreadable':
      return { code: 'charge_unreadable' }
    case 'decided':
      return { code: 'already_decided' }
    case undefined:
      return notFound.problem
  }
}
