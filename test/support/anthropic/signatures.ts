import { createHash, createHmac } from 'node:crypto'
import type { Block, MessagesRequest } from './request-shape.ts'
import { blocksOf, mergeTurns } from './turns.ts'

/** Bytes of a signature: of what text, after what conversation, and the proof. Divisible by three: no bit of it is idle. */
const textBytes = 16
const prefixBytes = 18
const proofBytes = 32

const accountKey = 'the key of the scripted account'
const anyPrefix = Buffer.alloc(prefixBytes)

/**
 * What the API signs a thinking block with, whose text may be hidden; also the `data` of a redacted one, which the API
 * accepts for each other. Bound to the conversation so far, if that is given.
 */
export function signatureOf(thinking: string, conversation?: MessagesRequest): string {
  const prefix = conversation === undefined ? anyPrefix : prefixOf(conversation, conversation.messages.length)
  const signed = Buffer.concat([hash(thinking).subarray(0, textBytes), prefix])
  return Buffer.concat([signed, proofOf(signed)]).toString('base64')
}

/**
 * What is wrong with a thinking block, as the API words it: platform.claude.com/docs/en/api/errors, and reports of requests
 * to it. Text may be emptied anywhere, and changed except in the latest turn of the assistant.
 */
export function findThinkingFault(
  block: Block,
  request: MessagesRequest,
  at: { readonly turn: number; readonly isLatest: boolean; readonly bindsThinking: boolean },
): string | undefined {
  const field = block.type === 'thinking' ? 'signature' : 'data'
  const signature = String(block[field])
  const bytes = Buffer.from(signature, 'base64')
  const signed = bytes.subarray(0, textBytes + prefixBytes)
  const isGenuine =
    bytes.toString('base64') === signature && bytes.subarray(signed.length).equals(proofOf(signed))
  const invalid = `Invalid \`${field}\` in \`${block.type}\` block`
  if (!isGenuine) return invalid
  const prefix = signed.subarray(textBytes)
  if (at.bindsThinking && !prefix.equals(anyPrefix) && !prefix.equals(prefixOf(request, at.turn)))
    return `${invalid}. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`
  const { thinking } = block
  const isSame =
    !thinking || hash(String(thinking)).subarray(0, textBytes).equals(signed.subarray(0, textBytes))
  if (isSame || !at.isLatest) return undefined
  return '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.'
}

/** Of everything before a turn that a later request must not change. Thinking can be left out, and cache marks moved. */
function prefixOf({ system, tools, messages }: MessagesRequest, turn: number): Buffer {
  const turns = mergeTurns(messages.slice(0, turn)).map(({ role, blocks }) => [
    role,
    blocks.map(({ block }) => block).filter(({ type }) => !type.endsWith('thinking')),
  ])
  const instructions = system === undefined ? [] : blocksOf({ role: 'system', content: system })
  const kept = JSON.stringify([instructions, tools ?? [], turns], (name, value) =>
    name === 'cache_control' ? undefined : value,
  )
  return hash(kept).subarray(0, prefixBytes)
}

const hash = (value: string) => createHash('sha256').update(value).digest()
const proofOf = (signed: Buffer) =>
  createHmac('sha256', accountKey).update(signed).digest().subarray(0, proofBytes)
