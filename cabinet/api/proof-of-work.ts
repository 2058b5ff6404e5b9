import type { Challenge } from 'altcha-lib'

/** What a caller sends with a proof: base64 of JSON `{"challenge":…,"solution":{"counter":…,"derivedKey":…}}`. */
export const proofHeader = 'proof-of-work'

/** Hardest challenge, after half a million tries of one account in a day: nearly three hours of one desktop processor. */
export const workMax = 100_000

/** ALTCHA, version 2: a challenge is signed, and each solution is good once. */
export type ProofsOfWork = {
  /**
   * What is to be solved before a call of an operation.
   *
   * @param work in units of about 0.1 s of one desktop processor; at most `workMax`.
   */
  challenge(operation: string, work: number): Promise<Challenge>
  /** Takes the proof of a call: the work that it shows, 0 for one that is no good, has expired or was taken before. */
  take(operation: string, proof: string): Promise<number>
}
