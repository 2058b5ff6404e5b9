import type { SignedReasoning } from '../formats/signed-reasoning.ts'
import type { ChatMessage, ChatRequest } from '../requests/chat-request.ts'
import { encryptedDetail } from '../requests/encrypted-detail.ts'
import { contentWithMark, withMark } from '../upstream/signature-marks.ts'
import { fieldsOf, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import type { Text } from '../wire/long-text.ts'
import { workThrough } from '../wire/turns.ts'

type Decrypt = (encrypted: string) => SignedReasoning | undefined

/** A request with the reasoning that its organization got from providers, and the mark of the last one that signed any. */
export type DecryptedChat = { readonly request: ChatRequest; readonly signedBy?: string }

/** The same for texts of any length; a text that is needed twice is decrypted once. */
export function decryptingOnce(decrypt: Decrypt): (encrypted: Text) => SignedReasoning | undefined {
  const known = new Map<string, SignedReasoning | undefined>()
  return (given) => {
    const encrypted = String(given)
    if (!known.has(encrypted)) known.set(encrypted, decrypt(encrypted))
    return known.get(encrypted)
  }
}

/** `decryptReasoning`, of a large body in turns; the very same request where nothing is encrypted. */
export function decryptChat(
  request: ChatRequest,
  decrypt: Decrypt,
  bodyBytes: number,
): DecryptedChat | Promise<DecryptedChat> {
  return hasEncrypted(request) ? workThrough(decryptReasoning(request, decrypt), bodyBytes) : { request }
}

/** Whether anything in a request is encrypted. */
export function hasEncrypted({ messages }: ChatRequest): boolean {
  return messages.some(isEncrypted)
}

/**
 * Decrypts the reasoning of a request, one message in each step, and puts it where chats have it. What cannot be decrypted is
 * left out: the model thinks without it.
 */
export function* decryptReasoning(
  request: ChatRequest,
  decrypt: Decrypt,
): Generator<undefined, DecryptedChat> {
  const messages: ChatMessage[] = []
  let signedBy: string | undefined
  for (const message of request.messages) {
    if (!isEncrypted(message)) {
      messages.push(message)
      continue
    }
    const signed = itemsOf(message.reasoning_details)
      .map((detail) => decrypt(String(fieldsOf(detail)?.data)))
      .filter((part) => part !== undefined)
    signedBy = signed.at(-1)?.origin ?? signedBy
    messages.push(withSigned(message, signed))
    yield
  }
  return { request: { ...request, messages }, ...(signedBy === undefined ? {} : { signedBy }) }
}

function isEncrypted(message: ChatMessage): boolean {
  return itemsOf(message.reasoning_details).some((detail) => fieldsOf(detail)?.type === encryptedDetail)
}

function withSigned(message: ChatMessage, signed: readonly SignedReasoning[]): ChatMessage {
  const { reasoning_details, tool_calls: calls, ...rest } = message
  const details = signed.flatMap((part) => part.details.map((detail) => withMark(detail, part.origin)))
  const content = signed.findLast((part) => part.content !== null)
  const hidden = signed.map(({ text }) => text ?? '').join('')
  return {
    ...rest,
    ...(hidden === '' ? {} : { reasoning_content: hidden }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(content?.content == null ? {} : { extra_content: contentWithMark(content.content, content.origin) }),
    ...(calls === undefined ? {} : { tool_calls: itemsOf(calls).map((call) => signCall(call, signed)) }),
  }
}

function signCall(given: unknown, signed: readonly SignedReasoning[]): unknown {
  const call = fieldsOf(given) ?? {}
  const id = String(call.id)
  const signer = signed.findLast(({ calls }) => Object.hasOwn(calls, id))
  const content: JsonObject | undefined = signer?.calls[id]
  if (signer === undefined || content === undefined) return given
  return { ...call, extra_content: contentWithMark(content, signer.origin) }
}
