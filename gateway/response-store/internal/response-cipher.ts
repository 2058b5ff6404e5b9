import { derivedKeys } from '#core/process/derived-keys'
import type { KeyList } from '#core/process/key-list'
import { openSealedBytes, sealBytes } from '#core/process/seal'

/** A part of a stored response, and whose it is: it decrypts for no other. */
type Sealed = {
  readonly organizationId: string
  readonly keyId: string
  /** Of its request. */
  readonly id: string
  readonly part: 'input' | 'response'
}

export type ResponseCipher = {
  encrypt(parts: readonly Buffer[], sealed: Sealed): readonly Buffer[]
  /** `undefined`: of another key, organization or installation, another response or part, or damaged. */
  decrypt(bytes: Buffer, sealed: Sealed): string | undefined
}

const purpose = 'model-gateway: stored response'

/** @param sealingKeys the gateway's own, of 32 bytes: the cipher's keys are derived from them. */
export function createResponseCipher(sealingKeys: KeyList<Uint8Array>): ResponseCipher {
  const keys = derivedKeys(sealingKeys, purpose)
  return {
    encrypt: (parts, sealed) => sealBytes(parts, bindingOf(sealed), keys),
    decrypt: (bytes, sealed) => openSealedBytes(bytes, bindingOf(sealed), keys)?.toString('utf8'),
  }
}

function bindingOf({ organizationId, keyId, id, part }: Sealed): readonly string[] {
  return [purpose, organizationId, keyId, id, part]
}
