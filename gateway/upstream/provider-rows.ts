import type { QuirksName } from '#cabinet/catalogue-document'
import { extraFields } from './extra-fields.ts'
import { openAiParameters } from './openai-parameters.ts'
import type { ProviderQuirks, ProviderRow } from './quirks.ts'

// Sources: `reference/wire.md` §2.2, §2.3, §2.7, §2.9 (2026-11-20) and the providers' own references. No live account
// was reachable: what a provider turns out to do otherwise is corrected here, with a recorded case in
// `test/conformance/cases/providers`.

const sampling = ['temperature', 'top_p']
const penalties = ['presence_penalty', 'frequency_penalty']
const logprobs = ['logprobs', 'top_logprobs']
const limits = ['max_tokens', 'max_completion_tokens', 'stop']
const tools = ['tools', 'tool_choice', 'parallel_tool_calls']
const structure = ['response_format', 'stream_options']
/** What nearly everybody takes. */
const common = [...sampling, ...limits, ...tools, ...structure]

/** What a message may hold where unknown fields are refused. */
const plainMessage = ['role', 'content', 'name', 'tool_calls', 'tool_call_id']

const textsOnly: ProviderQuirks['embeddings'] = {
  batchMax: 96,
  format: 'float',
  tokens: 'no',
  dimensions: 'no',
}

/** OpenAI's reasoning models refuse what steers sampling. Names may have an owner in front, as at a reseller. */
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
]

const openai: ProviderRow = {
  hosts: /(^|\.)api\.openai\.com$/,
  allow: openAiParameters,
  maxTokensField: 'max_completion_tokens',
  stopMax: 4,
  reasoningBack: 'strip',
  streamUsage: 'include_usage',
  embeddings: { batchMax: 2048, format: 'both', tokens: 'yes', dimensions: 'yes' },
  models: openAiModels,
}

/** The new form of address, `…/openai/v1`: the deployment is the model. */
const azure: ProviderRow = {
  ...openai,
  hosts: /\.(openai|services\.ai|cognitiveservices)\.azure\.(com|us|cn)$/,
  allow: [...openAiParameters, 'data_sources'],
}

const vllm: ProviderRow = {
  maxTokensField: 'max_tokens',
  schemaKeysDropped: ['strict'],
  developerRole: 'system',
  reasoningBack: 'keep',
  streamUsage: 'include_usage',
  embeddings: { batchMax: 256, format: 'both', tokens: 'yes', dimensions: 'no' },
}

/** Every kind of provider on OpenAI's wire. A new one is a row here, its name in `quirksNames`, and recorded cases. */
export const providerRows: Readonly<Record<QuirksName, ProviderRow>> = {
  generic: {
    reasoningBack: 'keep',
    extrasTaken: extraFields,
    streamUsage: 'include_usage',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no', dimensions: 'yes' },
  },
  openai,
  azure,
  /** The old form of address, `…/openai?api-version=…`: the deployment is in the path. */
  'azure-deployments': {
    ...azure,
    paths: {
      chat: '/deployments/{model}/chat/completions',
      embeddings: '/deployments/{model}/embeddings',
    },
  },
  mistral: {
    hosts: /(^|\.)api\.mistral\.ai$/,
    // Unknown parameters are a 422; so is stream_options, and usage comes unasked.
    allow: [
      ...sampling,
      ...limits,
      ...tools,
      ...penalties,
      ...['seed', 'n', 'response_format', 'prediction', 'metadata', 'reasoning_effort'],
      ...['random_seed', 'safe_prompt', 'prompt_mode', 'guardrails'],
    ],
    rename: { seed: 'random_seed' },
    maxTokensField: 'max_tokens',
    toolChoice: { required: 'any' },
    developerRole: 'system',
    messageFields: [...plainMessage, 'prefix'],
    nameRoles: ['tool'],
    reasoningBack: 'strip',
    streamUsage: 'always',
    embeddings: { batchMax: 512, format: 'float', tokens: 'no', dimensions: 'no' },
  },
  deepseek: {
    hosts: /(^|\.)api\.deepseek\.com$/,
    allow: [...common, ...penalties, ...logprobs, 'reasoning_effort', 'thinking'],
    maxTokensField: 'max_tokens',
    stopMax: 16,
    responseFormat: 'json_object',
    reasoningEffort: 'thinking_type',
    developerRole: 'system',
    content: 'string',
    reasoningBack: 'keep',
    streamUsage: 'include_usage',
    embeddings: textsOnly,
    models: [{ name: /reasoner|-v4|think/, quirks: { drop: logprobs, reasoningBack: 'require' } }],
  },
  xai: {
    hosts: /(^|\.)api\.x\.ai$/,
    allow: [
      ...common,
      ...penalties,
      ...logprobs,
      ...['seed', 'n', 'user', 'reasoning_effort', 'search_parameters', 'deferred'],
    ],
    maxTokensField: 'max_tokens',
    schemaKeysDropped: ['strict'],
    nameRoles: ['user'],
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: textsOnly,
    models: [
      { name: /^grok-(3-mini|4|code-fast)/, quirks: { drop: ['stop'] } },
      { name: /^grok-(4|code-fast)/, quirks: { drop: [...penalties, 'reasoning_effort'] } },
    ],
  },
  groq: {
    hosts: /(^|\.)api\.groq\.com$/,
    allow: [
      ...common,
      ...['seed', 'user', 'service_tier', 'reasoning_effort', 'reasoning_format', 'include_reasoning'],
      ...['search_settings', 'compound_custom', 'documents', 'citation_options'],
    ],
    maxTokensField: 'max_completion_tokens',
    stopMax: 4,
    choices: 'one',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: textsOnly,
  },
  together: {
    hosts: /(^|\.)api\.together\.(xyz|ai)$/,
    // Its log probabilities are asked for with a count, and answered in a shape of their own.
    drop: logprobs,
    maxTokensField: 'max_tokens',
    developerRole: 'system',
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: textsOnly,
  },
  openrouter: {
    hosts: /(^|\.)openrouter\.ai$/,
    // It drops itself what a model does not know, and wants its reasoning_details back.
    reasoningBack: 'keep',
    extrasTaken: extraFields,
    streamUsage: 'include_usage',
    embeddings: { batchMax: 256, format: 'both', tokens: 'no', dimensions: 'yes' },
  },
  fireworks: {
    hosts: /(^|\.)api\.fireworks\.ai$/,
    maxTokensField: 'max_tokens',
    stopMax: 4,
    developerRole: 'system',
    reasoningBack: 'keep',
    streamUsage: 'include_usage',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no', dimensions: 'yes' },
  },
  cerebras: {
    hosts: /(^|\.)api\.cerebras\.ai$/,
    allow: [
      ...common,
      ...logprobs,
      ...['seed', 'user', 'service_tier', 'reasoning_effort', 'disable_reasoning', 'clear_thinking'],
    ],
    maxTokensField: 'max_completion_tokens',
    stopMax: 4,
    choices: 'one',
    developerRole: 'system',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: textsOnly,
  },
  vllm,
  sglang: { ...vllm },
  tgi: {
    allow: [...common, ...penalties, ...logprobs, 'seed', 'logit_bias'],
    maxTokensField: 'max_tokens',
    stopMax: 4,
    choices: 'one',
    schemaKeysDropped: ['strict'],
    developerRole: 'system',
    content: 'string',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: { batchMax: 32, format: 'both', tokens: 'no', dimensions: 'no' },
  },
  ollama: {
    hosts: /:11434$/,
    // It ignores what it does not know, which a caller should hear.
    allow: [...common, ...penalties, 'seed', 'reasoning_effort', 'reasoning'],
    maxTokensField: 'max_tokens',
    choices: 'one',
    toolChoice: { none: 'without_tools', required: 'auto', named: 'auto' },
    developerRole: 'system',
    reasoningBack: 'keep',
    streamUsage: 'include_usage',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no', dimensions: 'yes' },
  },
  lmstudio: {
    hosts: /:1234$/,
    allow: [
      ...common,
      ...penalties,
      ...['seed', 'logit_bias', 'reasoning_effort', 'top_k', 'repeat_penalty', 'ttl'],
    ],
    maxTokensField: 'max_tokens',
    choices: 'one',
    toolChoice: { named: 'required' },
    responseFormat: 'json_schema',
    developerRole: 'system',
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no', dimensions: 'no' },
  },
  yandexgpt: {
    hosts: /(^|\.)(ai|llm)\.api\.cloud\.yandex\.net$/,
    allow: [...common, 'reasoning_effort'],
    clamp: { temperature: [0, 1] },
    maxTokensField: 'max_tokens',
    developerRole: 'system',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    // One text in a call, on older models at least.
    embeddings: { batchMax: 1, format: 'float', tokens: 'no', dimensions: 'no' },
    modelTemplate: { chat: 'gpt://{folder}/{model}/latest', embedding: 'emb://{folder}/{model}/latest' },
    headers: { 'openai-project': '{folder}' },
  },
  dashscope: {
    hosts: /(^|\.)dashscope(-intl|-us)?\.aliyuncs\.com$/,
    allow: [
      ...common,
      ...logprobs,
      ...['presence_penalty', 'seed', 'n', 'reasoning_effort', 'enable_thinking', 'thinking_budget'],
      ...['enable_search', 'search_options', 'top_k', 'repetition_penalty', 'vl_high_resolution_images'],
    ],
    maxTokensField: 'max_tokens',
    toolChoice: { required: 'auto' },
    reasoningEffort: 'enable_thinking',
    developerRole: 'system',
    reasoningBack: 'strip',
    extrasTaken: ['cache_control'],
    streamUsage: 'include_usage',
    embeddings: { batchMax: 10, format: 'float', tokens: 'no', dimensions: 'yes' },
    // The open Qwen3 think unless told not to, and then answer streams only.
    models: [{ name: /^qwen3-\d/, quirks: { setWhenPlain: { enable_thinking: false } } }],
  },
  moonshot: {
    hosts: /(^|\.)api\.moonshot\.(ai|cn)$/,
    allow: [
      ...common,
      ...penalties,
      ...['n', 'reasoning_effort', 'thinking', 'prompt_cache_key', 'safety_identifier'],
    ],
    clamp: { temperature: [0, 1] },
    maxTokensField: 'max_tokens',
    stopMax: 5,
    toolChoice: { required: 'auto' },
    reasoningEffort: 'thinking_type',
    developerRole: 'system',
    content: 'string',
    reasoningBack: 'keep',
    streamUsage: 'include_usage',
    embeddings: textsOnly,
    models: [
      { name: /thinking|^kimi-k2\.[5-9]/, quirks: { drop: ['temperature'], reasoningBack: 'require' } },
    ],
  },
  zhipu: {
    hosts: /(^|\.)(open\.bigmodel\.cn|api\.z\.ai)$/,
    allow: [
      ...common,
      ...['user', 'reasoning_effort', 'thinking', 'do_sample', 'request_id', 'user_id', 'tool_stream'],
    ],
    drop: ['parallel_tool_calls'],
    rename: { user: 'user_id' },
    clamp: { temperature: [0, 1], top_p: [0.01, 1] },
    maxTokensField: 'max_tokens',
    stopMax: 1,
    toolChoice: { none: 'without_tools', required: 'auto', named: 'auto' },
    responseFormat: 'json_object',
    reasoningEffort: 'thinking_type',
    developerRole: 'system',
    reasoningBack: 'keep',
    streamUsage: 'always',
    embeddings: { batchMax: 64, format: 'float', tokens: 'no', dimensions: 'yes' },
  },
  cohere: {
    hosts: /(^|\.)api\.cohere\.(ai|com)$/,
    allow: [...common, ...penalties, 'seed', 'reasoning_effort'],
    drop: ['parallel_tool_calls'],
    clamp: { temperature: [0, 1] },
    maxTokensField: 'max_tokens',
    stopMax: 5,
    choices: 'one',
    toolChoice: { named: 'required' },
    reasoningBack: 'strip',
    streamUsage: 'include_usage',
    embeddings: { batchMax: 96, format: 'both', tokens: 'no', dimensions: 'yes' },
  },
  gemini: {
    hosts: /(^|\.)generativelanguage\.googleapis\.com$/,
    // Unknown parameters are a 400.
    allow: [...common, 'n', 'reasoning_effort', 'extra_body'],
    drop: ['parallel_tool_calls'],
    maxTokensField: 'max_tokens',
    stopMax: 5,
    schemaKeysDropped: ['strict', '$schema', 'additionalProperties', 'const', 'default', 'exclusiveMinimum'],
    developerRole: 'system',
    reasoningBack: 'strip',
    // Gemini 3 refuses a call that comes back without its signature: a 400.
    extrasTaken: ['extra_content'],
    streamUsage: 'include_usage',
    embeddings: { batchMax: 100, format: 'float', tokens: 'no', dimensions: 'yes' },
  },
}
