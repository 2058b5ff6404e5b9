import type Anthropic from '@anthropic-ai/sdk'
import {
  base,
  budget,
  call,
  hi,
  ofUser,
  on,
  type Rejection,
  type Request,
  redacted,
  result,
  say,
  thought,
  thoughtTurns,
  withTurns,
} from './requests.ts'

const invalidSignature = 'messages.1.content.0: Invalid `signature` in `thinking` block'
const system = (...turns: readonly string[]): Request =>
  on('claude-opus-5', {
    messages: turns.map((role) => ({ role, content: role }) as Anthropic.MessageParam),
  })
const anywhere = 'the directive-only form (content: [] with output_config) is accepted at any position'

const changedByte = (signature: string) => `${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'A'}`

const signatures: readonly Rejection[] = [
  {
    name: 'with a signature of which one byte is changed',
    request: thoughtTurns,
    change: { 'messages.1.content.0.signature': changedByte(thought.signature) },
    message: invalidSignature,
  },
  {
    name: 'with hidden thinking whose signature is changed',
    request: {
      ...thoughtTurns,
      messages: [
        hi,
        { role: 'assistant', content: [{ ...thought, thinking: '' }, call] },
        { role: 'user', content: [result] },
      ],
    },
    change: { 'messages.1.content.0.signature': changedByte(thought.signature) },
    message: invalidSignature,
  },
  {
    name: 'with an empty signature',
    request: thoughtTurns,
    change: { 'messages.1.content.0.signature': '' },
    message: invalidSignature,
  },
  {
    name: 'with redacted thinking of which one byte is changed',
    request: {
      ...thoughtTurns,
      messages: [hi, { role: 'assistant', content: [redacted, call] }, { role: 'user', content: [result] }],
    },
    change: { 'messages.1.content.0.data': changedByte(redacted.data) },
    message: 'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
  },
  {
    name: 'with changed thinking in the latest turn',
    request: thoughtTurns,
    change: { 'messages.1.content.0.thinking': 'A call!' },
    message:
      'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
  },
  {
    name: 'with a budget, and a call without its thinking',
    request: thoughtTurns,
    change: { 'messages.1.content': [call] },
    message:
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
  },
  {
    name: 'with a budget, and an answer to continue',
    request: { ...base, thinking: budget },
    change: { 'messages.1': { role: 'assistant', content: 'Well' } },
    message:
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
  },
]

/** Turns, their order, and the signatures of thinking. */
export const turnRejections: readonly Rejection[] = [
  {
    name: 'with an empty list of turns',
    request: base,
    change: { messages: [] },
    message: 'messages: at least one message is required',
  },
  {
    name: 'with a turn of a tool',
    request: withTurns([hi, hi]),
    change: { 'messages.1.role': 'tool' },
    message: 'messages: Unexpected role "tool". Allowed roles are "user" or "assistant".',
  },
  {
    name: 'with a first turn of the assistant, on an old model',
    request: on('claude-3-5-haiku', { messages: [hi, hi] }),
    change: { 'messages.0.role': 'assistant' },
    message: 'messages: first message must use the "user" role',
  },
  {
    name: 'with a first turn of the system',
    request: system('user', 'system'),
    change: { 'messages.0.role': 'system' },
    message: `messages.0: use the top-level 'system' parameter for the initial system prompt; ${anywhere}`,
  },
  {
    name: 'with a turn of the system, on a model without them',
    request: withTurns([hi, hi]),
    change: { 'messages.1.role': 'system' },
    message: "role 'system' is not supported on this model",
  },
  {
    name: 'with a turn of the system before one of the user',
    request: system('user', 'system', 'assistant', 'user'),
    change: { 'messages.2.role': 'user' },
    message: `messages.1: role 'system' must precede an 'assistant' message or end the array; ${anywhere}`,
  },
  {
    name: 'with a turn of the system after one of the assistant',
    request: system('user', 'assistant', 'user', 'system'),
    change: { 'messages.2.role': 'system' },
    message: `messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result; ${anywhere}`,
  },
  {
    name: 'with an empty turn of the system',
    request: system('user', 'system'),
    change: { 'messages.1.content': '' },
    message: 'messages.1: system content must contain at least one block',
  },
  {
    name: 'with an empty text block',
    request: ofUser(say('Hi')),
    change: { 'messages.0.content.0.text': '' },
    message: 'messages: text content blocks must be non-empty',
  },
  {
    name: 'with a text block of whitespace',
    request: ofUser(say('Hi')),
    change: { 'messages.0.content.0.text': ' \n' },
    message: 'messages: text content blocks must contain non-whitespace text',
  },
  {
    name: 'with an empty text block in its system prompt',
    request: { ...base, system: [{ type: 'text', text: 'Be brief.' }] },
    change: { 'system.0.text': '' },
    message: 'system: text content blocks must be non-empty',
  },
  {
    name: 'with an empty turn',
    request: withTurns([hi, { role: 'assistant', content: 'Hello' }, hi]),
    change: { 'messages.1.content': [] },
    message:
      'messages.1: all messages must have non-empty content except for the optional final assistant message',
  },
  {
    name: 'with whitespace at the end of an answer to continue',
    request: withTurns([hi, { role: 'assistant', content: 'The answer is' }]),
    change: { 'messages.1.content': 'The answer is ' },
    message: 'messages: final assistant content cannot end with trailing whitespace',
  },
  {
    name: 'with an answer to continue, on a model that cannot',
    request: withTurns([hi, { role: 'assistant', content: 'The answer is' }]),
    change: { model: 'claude-opus-4-6' },
    message:
      'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
  ...signatures,
]
