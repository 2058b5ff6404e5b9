import type { Challenge } from 'altcha-lib'

/** The request header with a proof: base64 of JSON `{"challenge":…,"solution":{"counter":…,"derivedKey":…}}`. */
export const proofHeader = 'proof-of-work'

/**
 * The hardest challenge, reached after half a million attempts on one account in a day. It takes nearly three hours on
 * one desktop processor.
 */
export const workMax = 100_000

/** ALTCHA, version 2. Challenges are signed, and each solution is accepted once. */
export type ProofsOfWork = {
  /**
   * The challenge to solve before a call of an operation.
   *
   * @param work in units of about 0.1 s of one desktop processor; at most `workMax`.
   */
  challenge(operation: string, work: number): Promise<Challenge>
  /** Takes the proof of a call and returns its work. Returns 0 if the proof is invalid, expired or already used. */
  take(operation: string, proof: string): Promise<number>
}
