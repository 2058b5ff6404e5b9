import { createHmac } from 'node:crypto'

const key = 'the scripted server alone has it'
const macBytes = 18

/** Accepted in place of a signature that a history has lost: ai.google.dev/gemini-api/docs/thought-signatures. */
const placeholders = ['context_engineering_is_the_way_to_go', 'skip_thought_signature_validator']

/**
 * A signature of the scripted server for a thought. No byte of it can be changed: its length is a multiple of three,
 * so that its base64 has no spare bits.
 */
export function geminiSignature(thought = 'thought'): string {
  const length = Math.ceil(Buffer.byteLength(thought) / 3) * 3
  const bytes = Buffer.alloc(length, ' ')
  bytes.write(thought)
  return Buffer.concat([bytes, macOf(bytes)]).toString('base64')
}

export function isGeminiSignature(signature: string): boolean {
  if (placeholders.includes(signature)) return true
  const bytes = Buffer.from(signature, 'base64')
  const signed = bytes.subarray(0, -macBytes)
  return bytes.length > macBytes && macOf(signed).equals(bytes.subarray(-macBytes))
}

function macOf(bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes).digest().subarray(0, macBytes)
}
