import type { Rule } from './option-rules.ts'
import type { Block } from './request-shape.ts'
import { first } from './schema.ts'
import { findThinkingFault } from './signatures.ts'
import { blocksOf, type MergedTurn, mergeTurns, nestedBlocks } from './turns.ts'

const roles: Rule = ({ messages }, { model }) => {
  const unexpected = messages.find(({ role }) => !['user', 'assistant', 'system'].includes(role))
  if (unexpected !== undefined)
    return `messages: Unexpected role "${unexpected.role}". Allowed roles are "user" or "assistant".`
  const start = messages[0]
  if (start === undefined) return 'messages: at least one message is required'
  if (start.role === 'assistant' && !model.assistantFirst)
    return 'messages: first message must use the "user" role'
  return undefined
}

const anywhere = 'the directive-only form (content: [] with output_config) is accepted at any position'

// Each measured on claude-opus-5-5, 2026-09 and 2026-10.
const systemTurns: Rule = ({ messages }, { model }) => {
  if (messages[0]?.role === 'system')
    return `messages.0: use the top-level 'system' parameter for the initial system prompt; ${anywhere}`
  const merged = mergeTurns(messages)
  return first(merged, (turn, place) => {
    if (turn.role !== 'system') return undefined
    if (!model.systemTurns) return "role 'system' is not supported on this model"
    const at = `messages.${turn.index}`
    const blocks = turn.blocks.map(({ block }) => block)
    if (blocks.length === 0 || (blocks.length === 1 && messages[turn.index]?.content === ''))
      return `${at}: system content must contain at least one block`
    if (blocks.some(({ type }) => type !== 'text'))
      return `${at}: role 'system' supports text, tool_addition, and tool_removal blocks only`
    if (merged[place - 1]?.role !== 'user')
      return `${at}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result; ${anywhere}`
    const next = merged[place + 1]?.role ?? 'assistant'
    return next === 'assistant'
      ? undefined
      : `${at}: role 'system' must precede an 'assistant' message or end the array; ${anywhere}`
  })
}

const emptyTurns: Rule = ({ messages }) =>
  first(messages, ({ role, content }, index) => {
    if (content.length > 0 || (role === 'assistant' && index === messages.length - 1)) return undefined
    return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
  })

const emptyTexts: Rule = ({ system, messages }) => {
  const ofSystem = typeof system === 'string' ? undefined : findEmptyText(system ?? [], 'system')
  const given = messages.filter(({ content }) => content !== '')
  return (
    ofSystem ??
    findEmptyText(
      nestedBlocks(given).map(({ block }) => block),
      'messages',
    )
  )
}

function findEmptyText(blocks: readonly Block[], where: string): string | undefined {
  const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => String(text))
  if (texts.includes('')) return `${where}: text content blocks must be non-empty`
  const isBlank = texts.some((text) => text.trim() === '')
  return isBlank ? `${where}: text content blocks must contain non-whitespace text` : undefined
}

const ofAssistant = ['thinking', 'redacted_thinking', 'tool_use']

// The wording for an image is measured; that for a document is assumed to be the same.
const blocksOfRoles: Rule = ({ messages }, { version }) =>
  first(messages, (turn, index) => {
    const types = blocksOf(turn).map(({ type }) => type)
    const foreign = turn.role === 'assistant' ? ['tool_result'] : ofAssistant
    const misplaced = types.find((type) => foreign.includes(type))
    if (misplaced !== undefined)
      return `messages.${index}: \`${misplaced}\` blocks can only be in \`${turn.role === 'assistant' ? 'user' : 'assistant'}\` messages`
    const media = version.documentsOfAssistant ? ['image'] : ['image', 'document']
    const shown = turn.role === 'assistant' ? types.find((type) => media.includes(type)) : undefined
    return shown && `messages.${index}.content: '${shown}' blocks are not permitted within assistant turns`
  })

// The wording is unconfirmed; the rule: platform.claude.com/docs/en/api/versioning.
const citations: Rule = ({ messages }, { version }) => {
  if (version.citationsOfUser) return undefined
  const texts = messages.flatMap((turn, index) =>
    turn.role === 'user'
      ? blocksOf(turn).map((block, place) => ({ block, at: `${index}.content.${place}` }))
      : [],
  )
  const cited = texts.find(({ block }) => Array.isArray(block.citations) && block.citations.length > 0)
  return cited && `messages.${cited.at}.text.citations: Extra inputs are not permitted`
}

const toolPairs: Rule = ({ messages }) => {
  const turns = mergeTurns(messages)
  const seen = new Set<unknown>()
  return first(turns, (turn, place) => {
    const repeated = turn.blocks.find(({ block }) => {
      const isRepeated = block.type === 'tool_use' && seen.has(block.id)
      if (block.type === 'tool_use') seen.add(block.id)
      return isRepeated
    })
    if (repeated !== undefined) return `${repeated.at}: \`tool_use\` ids must be unique`
    return findMissingResult(turn, turns[place + 1]) ?? findForeignResult(turn, turns[place - 1])
  })
}

function findMissingResult(turn: MergedTurn, next: MergedTurn | undefined): string | undefined {
  // Results come first: those after any other block do not count.
  const end = next?.blocks.findIndex(({ block }) => block.type !== 'tool_result') ?? 0
  const leading = next?.blocks.slice(0, end === -1 ? undefined : end) ?? []
  const answered = leading.map(({ block }) => block.tool_use_id)
  const calls = turn.blocks.map(({ block }) => block).filter(({ type }) => type === 'tool_use')
  const missing = calls.map(({ id }) => id).filter((id) => !answered.includes(id))
  if (missing.length === 0) return undefined
  return `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
}

function findForeignResult(turn: MergedTurn, before: MergedTurn | undefined): string | undefined {
  const calls = before?.blocks.map(({ block }) => block.id) ?? []
  const results = turn.blocks.filter(({ block }) => block.type === 'tool_result')
  return first(results, ({ block, at }, place) => {
    const id = block.tool_use_id
    if (!calls.includes(id))
      return `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    if (results.slice(0, place).some((earlier) => earlier.block.tool_use_id === id))
      return `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`
    return undefined
  })
}

const signatures: Rule = (request, { model: { bindsThinking } }) => {
  const { messages } = request
  const latest = messages.findLastIndex(({ role }) => role === 'assistant')
  const thoughts = messages.flatMap((turn, index) =>
    blocksOf(turn)
      .map((block, place) => ({ block, index, at: `messages.${index}.content.${place}` }))
      .filter(({ block }) => block.type.endsWith('thinking')),
  )
  return first(thoughts, ({ block, index, at }) => {
    const fault = findThinkingFault(block, request, {
      turn: index,
      isLatest: index === latest,
      bindsThinking,
    })
    return fault && `${at}: ${fault}`
  })
}

/**
 * With a budget, the running turn of the assistant starts with its thinking. Adaptive thinking does not require it:
 * platform.claude.com/docs/en/build-with-claude/adaptive-thinking.
 */
const thinkingFirst: Rule = ({ messages, thinking }) => {
  if (thinking?.type !== 'enabled') return undefined
  const turns = mergeTurns(messages)
  let running = turns.at(-1)?.role === 'assistant' ? turns.length - 1 : turns.length
  while (turns[running - 1]?.blocks[0]?.block.type === 'tool_result') running -= 2
  const start = turns[running]?.blocks[0]
  if (start === undefined || start.block.type.endsWith('thinking')) return undefined
  return `${start.at}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${start.block.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking`
}

const prefill: Rule = ({ messages }, { model }) => {
  const last = mergeTurns(messages).at(-1)
  if (last?.role !== 'assistant') return undefined
  if (!model.prefill)
    return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  const end = last.blocks.at(-1)?.block
  const text = end?.type === 'text' ? String(end.text) : ''
  return text === text.trimEnd()
    ? undefined
    : 'messages: final assistant content cannot end with trailing whitespace'
}

/** What the turns of a request may not be, in the order in which it is checked. */
export const turnRules: readonly Rule[] = [
  roles,
  systemTurns,
  emptyTurns,
  emptyTexts,
  blocksOfRoles,
  citations,
  toolPairs,
  thinkingFirst,
  signatures,
  prefill,
]
