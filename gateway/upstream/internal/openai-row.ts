import { openAiParameters } from '../../wire/openai-parameters.ts'
import { logprobs, penalties, sampling, structure, tools } from './parameter-lists.ts'
import type { ProviderQuirks, ProviderRow } from './quirks.ts'

/** Chats by OpenAI's Responses API. Parameters that it lacks are dropped: `stop`, `seed`, `n`, log probabilities, sound. */
const byResponses: Partial<ProviderQuirks> = {
  chat: 'responses',
  allow: [
    ...sampling,
    ...penalties,
    ...tools,
    ...structure,
    'max_tokens',
    'max_completion_tokens',
    'metadata',
    'moderation',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning_effort',
    'safety_identifier',
    'service_tier',
    'user',
    'verbosity',
  ],
  choices: 'one',
  // It rejects less, which would be the caller's fault.
  clamp: { max_completion_tokens: [16, Number.POSITIVE_INFINITY] },
  nameRoles: [],
  extrasTaken: ['reasoning_details'],
}

/** OpenAI's reasoning models reject what steers sampling. Names may have an owner in front, as at a reseller. */
const openAiModels: NonNullable<ProviderRow['models']> = [
  {
    name: /(^|\/)o\d/,
    quirks: { drop: [...sampling, ...penalties, ...logprobs, 'logit_bias', 'parallel_tool_calls'] },
  },
  { name: /(^|\/)o(3|4-mini)/, quirks: { drop: ['stop'] } },
  {
    name: /(^|\/)gpt-5(-(?!chat)|$)/,
    quirks: { drop: [...sampling, ...penalties, ...logprobs, 'logit_bias', 'stop'] },
  },
  {
    name: /(^|\/)gpt-5\.\d/,
    quirks: {
      drop: [...penalties, 'logit_bias', 'stop'],
      dropWhenReasoning: [...sampling, ...logprobs],
    },
  },
  { name: /(^|\/)(?:o\d|gpt-5(?!.*-chat)|codex-mini)/, quirks: { encryptsReasoning: true } },
  // The Responses API only (developers.openai.com, models; read 2026-11-25).
  {
    name: /(^|\/)(?:codex-mini|computer-use-preview|(?:o\d|gpt-5)[\w.-]*-(?:pro|codex|deep-research)(?:-|$))/,
    quirks: byResponses,
  },
  { name: /(^|\/)text-embedding-ada-002/, quirks: { drop: ['dimensions'] } },
  // Chat completions only (developers.openai.com, models; read 2026-11-25).
  { name: /-audio|-search-preview/, quirks: { native: 'none' } },
]

const anyHost: ProviderRow = {
  native: 'responses',
  allow: openAiParameters,
  maxTokensField: 'max_completion_tokens',
  stopMax: 4,
  reasoningBack: 'strip',
  embeddings: { batchMax: 2048, format: 'both', tokens: 'yes', allow: ['dimensions', 'user'] },
  models: openAiModels,
}

export const openAiRow: ProviderRow = { ...anyHost, hosts: /(^|\.)api\.openai\.com$/ }

/** The new form of address, `…/openai/v1`: the deployment is the model. */
export const azureRow: ProviderRow = {
  ...openAiRow,
  hosts: /\.(openai|services\.ai|cognitiveservices)\.azure\.(com|us|cn)$/,
  allow: [...openAiParameters, 'data_sources'],
}

/** A proxy, or a deployment of any name, with the Responses API only. */
export const openAiResponsesRow: ProviderRow = { ...anyHost, ...byResponses }
