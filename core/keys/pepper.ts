import { createHmac } from 'node:crypto'
import { CannotStart } from '../process/start-or-exit.ts'

/**
 * The keys of this database were hashed with another pepper. A process that continued would accept none of
 * them.
 */
export class PepperMismatch extends CannotStart {
  constructor() {
    super(
      'KEY_PEPPER is not the one that the API keys of this database were made with: none of them would work. ' +
        'The pepper cannot be changed. Set KEY_PEPPER to the value that they were made with.',
    )
    this.name = 'PepperMismatch'
  }
}

/** No key reads like this, so what is made of it is the hash of none. */
const checked = 'model-gateway key pepper'

/** Identifies a pepper without revealing it. */
export function checkValueOf(pepper: string): string {
  return createHmac('sha256', pepper).update(checked).digest('base64url')
}
