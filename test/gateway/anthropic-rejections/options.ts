import { base, budget, consult, extra, ofUser, on, type Rejection, say, weather } from './requests.ts'

/** Fields that are missing, unknown or out of range. */
export const fieldRejections: readonly Rejection[] = [
  { name: 'without a model', request: base, change: { model: undefined }, message: 'model: Field required' },
  {
    name: 'without turns',
    request: base,
    change: { messages: undefined },
    message: 'messages: Field required',
  },
  {
    name: 'without a maximum of tokens',
    request: base,
    change: { max_tokens: undefined },
    message: 'max_tokens: Field required',
  },
  { name: 'with an unknown field', request: base, change: { foo: 1 }, message: `foo: ${extra}` },
  {
    name: 'with a field of OpenAI in a turn',
    request: base,
    change: { 'messages.0.name': 'Ann' },
    message: `messages.0.name: ${extra}`,
  },
  {
    name: 'with an unknown field in a block',
    request: ofUser(say('Hi')),
    change: { 'messages.0.content.0.foo': 1 },
    message: `messages.0.content.0.text.foo: ${extra}`,
  },
  {
    name: 'with an unknown field in a tool',
    request: on('claude-opus-5', { tools: [weather] }),
    change: { 'tools.0.parameters': {} },
    message: `tools.0.custom.parameters: ${extra}`,
  },
  {
    name: 'with a tool of OpenAI',
    request: on('claude-opus-5', { tools: [weather] }),
    change: { 'tools.0.type': 'function' },
    message:
      "tools.0: Input tag 'function' found using 'type' does not match any of the expected tags: 'custom', 'web_search_20250305', 'web_search_20260318', 'web_fetch_20260318', 'code_execution_20260521'",
  },
  {
    name: 'with a schema of a tool that is no object',
    request: on('claude-opus-5', { tools: [weather] }),
    change: { 'tools.0.input_schema.type': undefined },
    message: 'tools.0.custom.input_schema.type: Field required',
  },
  {
    name: 'with a block of OpenAI',
    request: ofUser(say('Hi')),
    change: {
      'messages.0.content.0': { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    },
    message:
      "messages.0.content.0: Input tag 'image_url' found using 'type' does not match any of the expected tags: 'text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result'",
  },
  {
    name: 'with a maximum of tokens below nothing',
    request: base,
    change: { max_tokens: -1 },
    message: 'max_tokens: must be greater than or equal to 0',
  },
  {
    name: 'with a maximum of tokens above that of its model',
    request: { ...base, max_tokens: 64_000 },
    change: { max_tokens: 64_001 },
    message:
      'max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5',
  },
  {
    name: 'with a maximum of tokens as text',
    request: base,
    change: { max_tokens: '10' },
    message: 'max_tokens: Input should be a valid integer',
  },
  {
    name: 'with a sequence to stop at that is whitespace',
    request: { ...base, stop_sequences: ['END', ' x'] },
    change: { 'stop_sequences.1': '\n' },
    message: 'stop_sequences: each stop sequence must contain non-whitespace',
  },
  {
    name: 'with an email address as the id of its user',
    request: { ...base, metadata: { user_id: 'ann' } },
    change: { 'metadata.user_id': 'ann@example.com' },
    message: 'metadata.user_id: user_id appears to contain an email address',
  },
  {
    name: 'with unknown metadata',
    request: { ...base, metadata: { user_id: 'ann' } },
    change: { 'metadata.team': 'a' },
    message: `metadata.team: ${extra}`,
  },
]

/** Sampling, by version and model. */
export const samplingRejections: readonly Rejection[] = [
  {
    name: 'with temperature in version 2026-10-21',
    version: '2026-10-21',
    request: base,
    change: { temperature: 1 },
    message: `temperature: ${extra}`,
  },
  {
    name: 'with top_p in version 2026-10-21',
    version: '2026-10-21',
    request: base,
    change: { top_p: 1 },
    message: `top_p: ${extra}`,
  },
  {
    name: 'with top_k in version 2026-10-21',
    version: '2026-10-21',
    request: base,
    change: { top_k: 1 },
    message: `top_k: ${extra}`,
  },
  {
    name: 'with temperature above 1',
    request: { ...base, temperature: 1 },
    change: { temperature: 1.5 },
    message: 'temperature: Input should be less than or equal to 1',
  },
  {
    name: 'with temperature and top_p, on a model that takes one',
    request: { ...base, temperature: 0.5 },
    change: { top_p: 0.9 },
    message: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
  },
  {
    name: 'with another temperature than 1, on a model without sampling',
    request: on('claude-opus-5', { temperature: 1, top_p: 0.99 }),
    change: { temperature: 0.5 },
    message: '`temperature` is deprecated for this model.',
  },
  {
    name: 'with top_k, on a model without sampling',
    request: on('claude-opus-5'),
    change: { top_k: 5 },
    message: '`top_k` is deprecated for this model.',
  },
]

/** Thinking and effort, by model. */
export const thinkingRejections: readonly Rejection[] = [
  {
    name: 'with a budget of thinking below 1,024',
    request: { ...base, thinking: budget },
    change: { 'thinking.budget_tokens': 1_023 },
    message: 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  },
  {
    name: 'with a budget of thinking that leaves no token for the answer',
    request: { ...base, thinking: budget },
    change: { max_tokens: 1_024 },
    message: `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${consult}#max-tokens-and-context-window-size`,
  },
  {
    name: 'with thinking and another temperature than 1',
    request: { ...base, thinking: budget, temperature: 1 },
    change: { temperature: 0.7 },
    message: `\`temperature\` may only be set to 1 when thinking is enabled or in adaptive mode. ${consult}`,
  },
  {
    name: 'with adaptive thinking and a low top_p',
    request: on('claude-opus-4-6', { thinking: { type: 'adaptive' }, top_p: 0.95 }),
    change: { top_p: 0.5 },
    message: `\`top_p\` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode. ${consult}`,
  },
  {
    name: 'with thinking and top_k',
    request: { ...base, thinking: budget },
    change: { top_k: 5 },
    message: `\`top_k\` must be unset when thinking is enabled or in adaptive mode. ${consult}`,
  },
  {
    name: 'with thinking and a call that is forced',
    request: { ...base, thinking: budget, tools: [weather], tool_choice: { type: 'auto' } },
    change: { tool_choice: { type: 'any' } },
    message: 'Thinking may not be enabled when tool_choice forces tool use.',
  },
  {
    name: 'with adaptive thinking, on a model that takes a budget only',
    request: { ...base, thinking: budget },
    change: { thinking: { type: 'adaptive' } },
    message: 'adaptive thinking is not supported on this model',
  },
  {
    name: 'with a budget, on a model that takes adaptive thinking only',
    request: on('claude-opus-5', { thinking: { type: 'adaptive' } }),
    change: { thinking: budget },
    message:
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
  },
  {
    name: 'with thinking, on a model without it',
    request: on('claude-3-5-haiku'),
    change: { thinking: budget },
    message: "'claude-3-5-haiku' does not support thinking.",
  },
  {
    name: 'with thinking between tools only, on a model without it',
    request: on('claude-opus-5', { thinking: { type: 'disabled' } }),
    change: { thinking: { type: 'between_tools' } },
    message: '"thinking.type.between_tools" is not supported for this model.',
  },
  {
    name: 'without thinking, on a model that always thinks',
    request: on('claude-sonnet-5-5', { thinking: { type: 'between_tools' } }),
    change: { thinking: { type: 'disabled' } },
    message:
      '"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" to turn off up-front thinking.',
  },
  {
    name: 'with effort, on a model without it',
    request: base,
    change: { output_config: { effort: 'low' } },
    message: 'This model does not support the effort parameter.',
  },
  {
    name: 'with an effort that its model does not have',
    request: on('claude-opus-4-6', { output_config: { effort: 'max' } }),
    change: { 'output_config.effort': 'xhigh' },
    message: "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
  },
  {
    name: 'with an effort that requires thinking',
    request: on('claude-opus-5', { thinking: { type: 'disabled' }, output_config: { effort: 'high' } }),
    change: { 'output_config.effort': 'max' },
    message:
      "output_config.effort 'max' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
  },
]
