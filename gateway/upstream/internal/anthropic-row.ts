import { limits, sampling, tools } from './parameter-lists.ts'
import type { AnthropicModel, ProviderQuirks, ProviderRow } from './quirks.ts'

/** Of its newest models. */
const claude: AnthropicModel = {
  thinking: 'adaptive',
  off: 'disabled',
  strictTools: true,
  forcedTools: true,
  sampling: 'none',
}
/** Of those that are given a number of tokens to think with. */
const budgetClaude: AnthropicModel = { ...claude, thinking: 'budget', sampling: 'one' }
const claudeBudget: Partial<ProviderQuirks> = {
  reasoningEffort: { levels: { minimal: 'low', xhigh: 'high', max: 'high' } },
  anthropic: budgetClaude,
}

/**
 * Anthropic's own API (platform.claude.com, API reference; errors and models as measured and documented, read 2026-11-25).
 * `stopsWhenClosed` is documented nowhere: an abandoned response is read to its end.
 */
export const anthropicRow: ProviderRow = {
  headers: { 'anthropic-version': '2023-06-01' },
  native: 'messages',
  allow: [...sampling, ...limits, ...tools, 'response_format', 'stream_options', 'reasoning_effort', 'user'],
  dropWhenReasoning: sampling,
  clamp: { temperature: [0, 1] },
  maxTokensField: 'max_tokens',
  // The maximum of the oldest model in service; a route's own limit comes first.
  outputLimitRequired: 8_192,
  responseFormat: 'schema_only',
  developerRole: 'system',
  nameRoles: [],
  reasoningBack: 'strip',
  extrasTaken: ['reasoning_details', 'cache_control'],
  streamUsage: 'always',
  choices: 'one',
  reasoningEffort: { levels: { minimal: 'low' } },
  // Models of 4.7 and later, and any that is newer than this list.
  anthropic: claude,
  embeddings: { batchMax: 1, format: 'float', tokens: 'no', allow: [] },
  models: [
    {
      name: /claude-(?:sonnet|opus)-5-5|claude-(?:fable|mythos)-5-1/,
      quirks: { anthropic: { ...claude, off: 'between_tools', forcedTools: false } },
    },
    {
      name: /claude-(?:opus|sonnet)-4-6/,
      quirks: {
        reasoningEffort: { levels: { minimal: 'low', xhigh: 'high' } },
        anthropic: { ...claude, sampling: 'one' },
      },
    },
    { name: /claude-(?:opus|sonnet|haiku)-4-(?:[015](?!\d)|20\d{6})|claude-3-7/, quirks: claudeBudget },
    {
      name: /claude-(?:opus|sonnet)-4-(?:0(?!\d)|20\d{6})|claude-3-7/,
      quirks: { responseFormat: 'prompt', anthropic: { ...budgetClaude, strictTools: false } },
    },
    {
      name: /claude-3-(?:5|opus|sonnet|haiku)/,
      quirks: {
        drop: ['reasoning_effort'],
        dropWhenReasoning: [],
        responseFormat: 'prompt',
        anthropic: { ...claude, thinking: 'none', strictTools: false, sampling: 'both' },
      },
    },
  ],
}

/** Its version without sampling, for every model. */
export const anthropic2026Row: ProviderRow = {
  ...anthropicRow,
  headers: { 'anthropic-version': '2026-10-21' },
  drop: sampling,
}
