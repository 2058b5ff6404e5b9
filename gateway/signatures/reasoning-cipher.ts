import { derivedKeys } from '#core/process/derived-keys'
import type { KeyList } from '#core/process/key-list'
import { openSealed, seal } from '#core/process/seal'
import type { SignedReasoning } from '../formats/signed-reasoning.ts'
import { fieldsOf, findExactJson, type JsonObject, objectsIn } from '../wire/json-fields.ts'

/** Encrypts what providers signed, so that a client can return it and nothing else. */
export type ReasoningCipher = {
  encrypt(signed: SignedReasoning, organizationId: string): string
  /** `undefined`: another organization's, another installation's, or damaged. */
  decrypt(encrypted: string, organizationId: string): SignedReasoning | undefined
}

const purpose = 'model-gateway: reasoning'

/** @param sealingKeys the gateway's own, of 32 bytes: the cipher's keys are derived from them. */
export function createReasoningCipher(sealingKeys: KeyList<Uint8Array>): ReasoningCipher {
  const keys = derivedKeys(sealingKeys, purpose)
  return {
    encrypt: (signed, organizationId) => seal(JSON.stringify(signed), [purpose, organizationId], keys),
    decrypt(encrypted, organizationId) {
      const text = openSealed(encrypted, [purpose, organizationId], keys)
      return text === undefined ? undefined : signedIn(text)
    },
  }
}

/** It was written here, maybe by another release. */
function signedIn(text: string): SignedReasoning | undefined {
  const fields = fieldsOf(findExactJson(text))
  if (typeof fields?.origin !== 'string') return undefined
  const { origin, details, calls, content, text: reasoning } = fields
  return {
    origin,
    details: objectsIn(details),
    calls: (fieldsOf(calls) ?? {}) as { readonly [callId: string]: JsonObject },
    content: fieldsOf(content) ?? null,
    ...(typeof reasoning === 'string' ? { text: reasoning } : {}),
  }
}
