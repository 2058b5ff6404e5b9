import { useState } from 'react'
import { callVersioned, type Versioned } from '../../api/call.ts'
import type { Answer, Input, ReadPath } from '../../api/calls.ts'
import { asProblem } from '../../api/problem.ts'
import { readAgain } from '../../api/queries.ts'

export type Organization = Answer<'GET /organization'>

type Change = Input<'PATCH /organization'>['body']

/** The version that an edited form is based on, whatever is read in the meantime. */
type Basis<First> = {
  readonly versioned: Versioned<Organization>
  /** The initial values of the fields. */
  readonly first: First
  /** Another user has changed the organization since. */
  readonly isConflict: boolean
}

/** A form of the organization's settings, which overwrites no version that its user has not seen. */
export function useOrganizationForm<First>(
  versioned: Versioned<Organization>,
  firstOf: (organization: Organization) => First,
) {
  const [basis, setBasis] = useState<Basis<First>>()
  const shown = basis?.versioned ?? versioned
  const first = basis?.first ?? firstOf(shown.body)
  return {
    organization: shown.body,
    first,
    isConflict: basis?.isConflict === true,
    /** When the user begins to type. */
    hold: () => setBasis(basis ?? { versioned, first, isConflict: false }),
    async save(body: Change): Promise<Basis<First>> {
      try {
        const saved = await callVersioned('PATCH /organization', { body, ifMatch: shown.etag ?? '' })
        return { versioned: saved, first: firstOf(saved.body), isConflict: false }
      } catch (error) {
        if (asProblem(error).code !== 'precondition_failed') throw error
        return { versioned: await callVersioned('GET /organization'), first, isConflict: true }
      }
    },
    /** Shows the saved version; in a conflict the other user's, with what was typed. `also`: other data that it changes. */
    async show(saved: Basis<First>, also: ReadPath): Promise<void> {
      setBasis(saved)
      await readAgain('/organization', also)
      if (!saved.isConflict) setBasis(undefined) // another form of this page may change the next version
    },
  }
}
