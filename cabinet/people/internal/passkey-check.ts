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
  const challenge = expectChallenge(expected)
  const verified = await refusedAsUndefined(async () => {
    const { verifyRegistrationResponse } = await library()
    return verifyRegistrationResponse({
      response: { id, rawId, type, response, clientExtensionResults: {} },
      ...challenge.options,
      supportedAlgorithmIDs: algorithms,
    })
  })
  if (verified?.verified !== true || challenge.issuedAt === undefined) return undefined
  const { publicKey, counter } = verified.registrationInfo.credential
  return { credentialId: Buffer.from(id, 'base64url'), publicKey, counter, issuedAt: challenge.issuedAt }
}

/** The device's new counter, if this passkey signed a challenge of this site, and its user unlocked the device. */
export async function checkSigned(
  { id, rawId, type, response }: z.output<typeof signedCredential>,
  { publicKey, counter, userId }: StoredPasskey,
  expected: Expected,
) {
  const { userHandle, ...signed } = response
  if (userHandle !== handleOf(userId)) return undefined
  const challenge = expectChallenge(expected)
  const verified = await refusedAsUndefined(async () => {
    const { verifyAuthenticationResponse } = await library()
    return verifyAuthenticationResponse({
      response: { id, rawId, type, response: signed, clientExtensionResults: {} },
      ...challenge.options,
      credential: { id, publicKey: new Uint8Array(publicKey), counter: Number(counter) },
    })
  })
  if (verified?.verified !== true || challenge.issuedAt === undefined) return undefined
  return { counter: verified.authenticationInfo.newCounter, issuedAt: challenge.issuedAt }
}

/** A user in a passkey: devices keep it, and return it. */
export function handleOf(userId: string): string {
  return Buffer.from(userId).toString('base64url')
}

/** What the library compares, and the time of the challenge once it has compared it. */
function expectChallenge({ use, appUrl, nowMs, sealingKeys }: Expected) {
  const { id, origin } = siteOf(appUrl)
  const seen: { issuedAt: Date | undefined } = { issuedAt: undefined }
  const expectedChallenge = (challenge: string) => {
    seen.issuedAt = issueTimeOf(challenge, use, nowMs, sealingKeys)
    return seen.issuedAt !== undefined
  }
  return {
    options: {
      expectedChallenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
    },
    get issuedAt() {
      return seen.issuedAt
    },
  }
}

/** The library throws on whatever a device or a forger sends. */
async function refusedAsUndefined<Value>(check: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await check()
  } catch {
    return undefined
  }
}

/** Loaded with the first passkey: it takes 0.15 s, and most processes never need it. */
function library() {
  return import('@simplewebauthn/server')
}
