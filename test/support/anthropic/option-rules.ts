import type { ApiVersion, ClaudeModel } from './models.ts'
import type { MessagesRequest } from './request-shape.ts'
import { fieldsOf, first } from './schema.ts'

/** Where a request with a valid shape is sent. */
type Target = { readonly model: ClaudeModel; readonly version: ApiVersion }

/** One reason to reject a request, in the API's words. */
export type Rule = (request: MessagesRequest, target: Target) => string | undefined

const consult =
  'Please consult our documentation at https://platform.claude.com/docs/en/build-with-claude/extended-thinking'

const isThinking = ({ thinking }: MessagesRequest) =>
  thinking?.type === 'enabled' || thinking?.type === 'adaptive'

// 0 fills the cache without an answer (the SDK's documentation), so never of a stream.
const maxTokens: Rule = ({ model, max_tokens: tokens, stream }, target) => {
  if (tokens === undefined) return undefined
  const { outputTokensMax } = target.model
  if (tokens < 0 || (tokens === 0 && stream === true))
    return `max_tokens: must be greater than or equal to ${stream === true ? 1 : 0}`
  if (tokens <= outputTokensMax) return undefined
  return `max_tokens: ${tokens} > ${outputTokensMax}, which is the maximum allowed number of output tokens for ${model}`
}

const sampling: Rule = (request, { model }) => {
  const { temperature, top_p: topP, top_k: topK } = request
  if (model.sampling === 'defaults only') {
    const changed = [
      temperature !== undefined && temperature !== 1 && 'temperature',
      topP !== undefined && topP < 0.99 && 'top_p',
      topK !== undefined && 'top_k',
    ].find((name) => name !== false)
    return changed === undefined ? undefined : `\`${changed}\` is deprecated for this model.`
  }
  const isBoth = temperature !== undefined && topP !== undefined
  if (isBoth && model.sampling === 'temperature or top_p')
    return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'
  if (!isThinking(request)) return undefined
  const when = `when thinking is enabled or in adaptive mode. ${consult}`
  if (temperature !== undefined && temperature !== 1) return `\`temperature\` may only be set to 1 ${when}`
  if (topP !== undefined && topP < 0.95)
    return `\`top_p\` must be greater than or equal to 0.95 or unset ${when}`
  return topK === undefined ? undefined : `\`top_k\` must be unset ${when}`
}

const thinking: Rule = ({ thinking: asked, model: id, max_tokens: tokens }, { model }) => {
  if (asked === undefined) return undefined
  const { type, budget_tokens: budget = 0 } = asked
  if (!model.thinking.some((accepted) => accepted === type)) {
    if (type === 'adaptive') return 'adaptive thinking is not supported on this model'
    if (type === 'between_tools') return '"thinking.type.between_tools" is not supported for this model.'
    // The rest of the wording for a model without thinking, or with `between_tools`, is unconfirmed.
    if (model.thinking.includes('between_tools') && type === 'disabled')
      return '"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" to turn off up-front thinking.'
    if (!model.thinking.includes('adaptive')) return `'${id}' does not support thinking.`
    return `"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
  }
  if (tokens === undefined || budget < tokens) return undefined
  return `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${consult}#max-tokens-and-context-window-size`
}

const effort: Rule = ({ output_config: config, thinking: asked }, { model }) => {
  const level = config?.effort ?? undefined
  if (level === undefined) return undefined
  if (model.efforts.length === 0) return 'This model does not support the effort parameter.'
  if (!model.efforts.includes(level))
    return `This model does not support effort level '${level}'. Supported levels: ${model.efforts.toSorted().join(', ')}.`
  const isHigh = level === 'xhigh' || level === 'max'
  const isLimited =
    asked?.type === 'between_tools' || (asked?.type === 'disabled' && model.efforts.includes('xhigh'))
  if (!isHigh || !isLimited) return undefined
  return `output_config.effort '${level}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`
}

const closedObjects = "For 'object' type, 'additionalProperties' must be explicitly set to false"

const format: Rule = ({ output_config: config, model: id, tools = [] }, { model }) => {
  const asked = config?.format ?? undefined
  if (asked !== undefined && !model.structuredOutputs) return `'${id}' does not support output format.`
  if (asked !== undefined && hasOpenObject(asked.schema))
    return `output_config.format.schema: ${closedObjects}`
  return first(tools, (tool, index) =>
    tool.strict === true && hasOpenObject(tool.input_schema)
      ? `tools.${index}.custom: ${closedObjects}`
      : undefined,
  )
}

function hasOpenObject(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasOpenObject)
  const fields = fieldsOf(schema)
  if (fields === undefined) return false
  const isObject = fields.type === 'object' || (Array.isArray(fields.type) && fields.type.includes('object'))
  if (isObject && fields.additionalProperties !== false) return true
  const { properties, $defs: definitions, items, anyOf, allOf } = fields
  const named = [properties, definitions].flatMap((group) => Object.values(fieldsOf(group) ?? {}))
  return [...named, items, anyOf, allOf].some(hasOpenObject)
}

const toolNames: Rule = ({ tools = [] }) => {
  const names = tools.map(({ name }) => name)
  return new Set(names).size === names.length ? undefined : 'tools: Tool names must be unique.'
}

// Measured per value: `auto` and `none` are accepted without tools.
const toolChoice: Rule = (request, { model }) => {
  const { tool_choice: choice, tools = [] } = request
  if (choice?.type !== 'any' && choice?.type !== 'tool') return undefined
  if (!model.forcedTools) return 'tool_choice: type "tool" and "any" are not supported for this model.'
  if (choice.type === 'any' && tools.length === 0)
    return 'tool_choice.any may only be specified while providing tools'
  if (choice.type === 'tool' && !tools.some(({ name }) => name === choice.name))
    return `Tool '${choice.name}' not found in provided tools`
  return isThinking(request) ? 'Thinking may not be enabled when tool_choice forces tool use.' : undefined
}

const stopSequences: Rule = ({ stop_sequences: sequences = [] }) =>
  sequences.every((sequence) => sequence.trim() !== '')
    ? undefined
    : 'stop_sequences: each stop sequence must contain non-whitespace'

const userId: Rule = ({ metadata }) =>
  /\S@\S+\.\S/.test(metadata?.user_id ?? '')
    ? 'metadata.user_id: user_id appears to contain an email address'
    : undefined

/** What a request may not ask for, in the order in which it is checked. */
export const optionRules: readonly Rule[] = [
  maxTokens,
  thinking,
  sampling,
  effort,
  format,
  toolNames,
  toolChoice,
  stopSequences,
  userId,
]
