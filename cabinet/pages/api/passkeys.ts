import type { Answer, Input } from './calls.ts'

type Signed = Input<'POST /auth/login/passkey'>['body']['credential']
type Created = Input<'POST /me/passkeys'>['body']['credential']

/** Browsers allow passkeys over HTTPS and on localhost, at a name, never at an IP address. */
export function hasPasskeys(): boolean {
  return (
    typeof PublicKeyCredential !== 'undefined' &&
    'parseCreationOptionsFromJSON' in PublicKeyCredential &&
    !/^[\d.]+$|:/.test(location.hostname)
  )
}

/** The signature of a passkey that the user chose and unlocked. `undefined`: the user canceled, or has none. */
export async function signWithPasskey(options: Answer<'POST /auth/passkey/challenge'>) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const signed = await navigator.credentials.get({ publicKey }).catch(canceled)
  return signed instanceof PublicKeyCredential ? (signed.toJSON() as Signed) : undefined
}

/** A new passkey. `undefined`: the user canceled. `known`: the chosen device already has one. */
export async function createPasskey(options: Answer<'POST /me/passkeys/challenge'>) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  try {
    const made = await navigator.credentials.create({ publicKey })
    return made instanceof PublicKeyCredential ? (made.toJSON() as Created) : undefined
  } catch (error) {
    if (error instanceof DOMException && error.name === 'InvalidStateError') return 'known'
    return canceled(error)
  }
}

/** @throws any error that does not mean that the user canceled, or took too long. */
function canceled(error: unknown): undefined {
  const isCanceled = error instanceof DOMException && ['NotAllowedError', 'AbortError'].includes(error.name)
  if (!isCanceled) throw error
}
