import type { KeyList } from '#core/process/key-list'
import { openSealedBytes, sealBytes } from '#core/process/seal'

/** Time to find the device and unlock it. */
export const challengeLastsMs = 5 * 60_000
/** The clocks of two replicas differ by less. */
const skewMaxMs = 60_000

/** The use of a challenge. One for adding a passkey is only for the session that asked for it. */
export type ChallengeUse = readonly ['sign-in'] | readonly ['add', userId: string, sessionId: string]

/**
 * A challenge that only this service can issue. It contains its own time, so that nothing is stored for strangers.
 * After one is accepted, no earlier or equal one of the same passkey may be.
 */
export function newChallenge(use: ChallengeUse, nowMs: number, sealingKeys: KeyList<Uint8Array>): string {
  const issued = Buffer.from(String(nowMs))
  return Buffer.concat(sealBytes([issued], bindingOf(use), sealingKeys)).toString('base64url')
}

/** When a challenge was issued. `undefined`: it is not ours, for another use, or has expired. Pure. */
export function issueTimeOf(
  challenge: string,
  use: ChallengeUse,
  nowMs: number,
  sealingKeys: KeyList<Uint8Array>,
): Date | undefined {
  const opened = openSealedBytes(Buffer.from(challenge, 'base64url'), bindingOf(use), sealingKeys)
  if (opened === undefined) return undefined
  const issuedMs = Number(opened.toString())
  const ageMs = nowMs - issuedMs
  return ageMs >= -skewMaxMs && ageMs <= challengeLastsMs ? new Date(issuedMs) : undefined
}

function bindingOf(use: ChallengeUse): readonly string[] {
  return ['passkey challenge', ...use]
}
