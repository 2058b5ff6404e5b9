import type { z } from 'zod'
import type { KeyList } from '#core/process/key-list'
import type { createdCredential, signedCredential } from '../passkey-contracts.ts'
import { type ChallengeUse, issueTimeOf } from './passkey-challenge.ts'
import type { StoredPasskey } from './passkey-store.ts'

/** EdDSA, ES256 and RS256 as COSE numbers: what browsers and security keys offer. */
export const algorithms = [-8, -7, -257]

/** The site that a passkey belongs to: the host of the cabinet, without its port. */
export function siteOf(appUrl: string): { readonly id: string; readonly origin: string } {
  const { hostname, origin } = new URL(appUrl)
  return { id: hostname, origin }
}

type Expected = {
  readonly use: ChallengeUse
  readonly appUrl: string
  readonly nowMs: number
  readonly sealingKeys: KeyList<Uint8Array>
}

/** What a browser created, if it is for this site and this challenge, and its user unlocked the device. */
export async function checkCreated(
  { id, rawId, type, response }: z.output<typeof createdCredential>,
  expected: Expected,
) {
  const created = await verify(expected, async (options) => {
    const { verifyRegistrationResponse } = await library()
    return verifyRegistrationResponse({
      response: { id, rawId, type, response, clientExtensionResults: {} },
      ...options,
      supportedAlgorithmIDs: algorithms,
    })
  })
  const credential = created?.verified.registrationInfo?.credential
  if (created === undefined || credential === undefined) return undefined
  const { publicKey, counter } = credential
  return { credentialId: Buffer.from(id, 'base64url'), publicKey, counter, issuedAt: created.issuedAt }
}

/** The device's new counter, if this passkey signed a challenge of this site, and its user unlocked the device. */
export async function checkSigned(
  { id, rawId, type, response }: z.output<typeof signedCredential>,
  { publicKey, counter, userId }: StoredPasskey,
  expected: Expected,
) {
  const { userHandle, ...signature } = response
  if (userHandle !== handleOf(userId)) return undefined
  const signed = await verify(expected, async (options) => {
    const { verifyAuthenticationResponse } = await library()
    return verifyAuthenticationResponse({
      response: { id, rawId, type, response: signature, clientExtensionResults: {} },
      ...options,
      credential: { id, publicKey: new Uint8Array(publicKey), counter: Number(counter) },
    })
  })
  if (signed === undefined) return undefined
  return { counter: signed.verified.authenticationInfo.newCounter, issuedAt: signed.issuedAt }
}

/** A user in a passkey: devices keep it, and return it. */
export function handleOf(userId: string): string {
  return Buffer.from(userId).toString('base64url')
}

type Options = {
  readonly expectedChallenge: (challenge: string) => boolean
  readonly expectedOrigin: string
  readonly expectedRPID: string
  readonly requireUserVerification: true
}

/** What the library verified, and when its challenge was issued. It throws on whatever a device or a forger sends. */
async function verify<Verified extends { readonly verified: boolean }>(
  { use, appUrl, nowMs, sealingKeys }: Expected,
  ask: (options: Options) => Promise<Verified>,
): Promise<{ readonly verified: Verified; readonly issuedAt: Date } | undefined> {
  const { id: expectedRPID, origin: expectedOrigin } = siteOf(appUrl)
  let issuedAt: Date | undefined
  const expectedChallenge = (challenge: string) => {
    issuedAt = issueTimeOf(challenge, use, nowMs, sealingKeys)
    return issuedAt !== undefined
  }
  try {
    const verified = await ask({
      expectedChallenge,
      expectedOrigin,
      expectedRPID,
      requireUserVerification: true,
    })
    return verified.verified && issuedAt !== undefined ? { verified, issuedAt } : undefined
  } catch {
    return undefined
  }
}

/** Loaded with the first passkey: it takes 0.15 s, and most processes never need it. */
function library() {
  return import('@simplewebauthn/server')
}
