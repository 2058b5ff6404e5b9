import type { QuirksName } from '#core/catalog/catalog-document'
import { anthropic2026Row, anthropicRow } from './anthropic-row.ts'
import { extraFields } from './extra-fields.ts'
import { geminiRow } from './gemini-row.ts'
import { azureRow, openAiResponsesRow, openAiRow } from './openai-row.ts'
import { common, limits, logprobs, penalties, sampling, tools } from './parameter-lists.ts'
import type { EffortLevels, ProviderQuirks, ProviderRow } from './quirks.ts'

// Sources: the providers' own references, read 2026-11-20. No live account
// was reachable: what a provider turns out to do otherwise is corrected here, with a recorded case in
// `test/conformance/cases/providers`.

/** Fields of a message where unknown fields are rejected. */
const plainMessage = ['role', 'content', 'name', 'tool_calls', 'tool_call_id']

const textsOnly: ProviderQuirks['embeddings'] = {
  batchMax: 96,
  format: 'float',
  tokens: 'no',
  allow: [],
}

/** DeepSeek's own table (api-docs.deepseek.com, guides/thinking_mode). */
const lowHighMax: EffortLevels = { minimal: 'low', medium: 'high', xhigh: 'high' }
/** Of models that always think. */
const alwaysLowHighMax: EffortLevels = { ...lowHighMax, none: 'low' }

const mistralEmbeddings = {
  batchMax: 512,
  format: 'float',
  tokens: 'no',
  allow: ['output_dimension', 'output_dtype', 'metadata'],
} as const

const vllm: ProviderRow = {
  // It aborts a request whose client disconnected (vllm/entrypoints/utils.py, with_cancellation; SGLang: abort_request), and
  // sends no bill.
  stopsWhenClosed: 'always',
  maxTokensField: 'max_tokens',
  schemaKeysDropped: ['strict'],
  developerRole: 'system',
  reasoningBack: 'keep',
  // It reads token ids as those of the model that it serves.
  embeddings: { batchMax: 256, format: 'both', tokens: 'no' },
}

/** Every kind of provider. A new one is a row here, its name in `quirksNames`, and recorded cases. */
export const providerRows: Readonly<Record<QuirksName, ProviderRow>> = {
  generic: {
    // Some proxies unpack it into arbitrary parameters.
    notFromCallers: ['extra_body'],
    reasoningBack: 'keep',
    extrasTaken: extraFields,
    embeddings: { batchMax: 256, format: 'float', tokens: 'no' },
  },
  openai: openAiRow,
  'openai-responses': openAiResponsesRow,
  azure: azureRow,
  /** The old form of address, `…/openai?api-version=…`: the deployment is in the path. */
  'azure-deployments': {
    ...azureRow,
    native: 'none',
    paths: {
      chat: '/deployments/{model}/chat/completions',
      embeddings: '/deployments/{model}/embeddings',
    },
  },
  mistral: {
    hosts: /(^|\.)api\.mistral\.ai$/,
    // Unknown parameters are a 422, and stream_options is one; usage comes without it.
    allow: [
      ...sampling,
      ...limits,
      ...tools,
      ...penalties,
      'seed',
      'n',
      'response_format',
      'metadata',
      'reasoning_effort',
      'random_seed',
      'safe_prompt',
      'prompt_mode',
      'guardrails',
    ],
    rename: { seed: 'random_seed' },
    maxTokensField: 'max_tokens',
    toolChoice: { required: 'any' },
    developerRole: 'system',
    messageFields: [...plainMessage, 'prefix'],
    nameRoles: ['tool'],
    reasoningBack: 'strip',
    streamUsage: 'always',
    embeddings: mistralEmbeddings,
    models: [
      {
        name: /codestral-embed/,
        quirks: {
          embeddings: {
            ...mistralEmbeddings,
            allow: [...mistralEmbeddings.allow, 'dimensions'],
            rename: { dimensions: 'output_dimension' },
          },
        },
      },
    ],
  },
  deepseek: {
    hosts: /(^|\.)api\.deepseek\.com$/,
    allow: [...common, ...penalties, ...logprobs, 'reasoning_effort', 'thinking'],
    maxTokensField: 'max_tokens',
    stopMax: 16,
    responseFormat: 'json_object',
    reasoningEffort: { switch: 'thinking_type', levels: lowHighMax },
    developerRole: 'system',
    content: 'string',
    reasoningBack: 'keep',
    embeddings: textsOnly,
    models: [{ name: /reasoner|-v4|think/, quirks: { drop: logprobs, reasoningBack: 'require' } }],
  },
  xai: {
    hosts: /(^|\.)api\.x\.ai$/,
    allow: [...common, ...penalties, ...logprobs, 'seed', 'n', 'user', 'reasoning_effort'],
    maxTokensField: 'max_tokens',
    schemaKeysDropped: ['strict'],
    nameRoles: ['user'],
    reasoningBack: 'strip',
    embeddings: textsOnly,
    models: [
      { name: /^grok-(3-mini|4|code-fast)/, quirks: { drop: ['stop'] } },
      { name: /^grok-(4|code-fast)/, quirks: { drop: penalties } },
      { name: /^grok-(4(?!\.[3-9])|code-fast)/, quirks: { drop: ['reasoning_effort'] } },
      // docs.x.ai, model-capabilities/text/reasoning. From 4.5 on they always think.
      {
        name: /^grok-4\.3/,
        quirks: { reasoningEffort: { levels: { minimal: 'low', xhigh: 'high', max: 'high' } } },
      },
      {
        name: /^grok-4\.5/,
        quirks: { reasoningEffort: { levels: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' } } },
      },
      {
        name: /^grok-4\.[6-9]/,
        quirks: { reasoningEffort: { levels: { none: 'low', minimal: 'low', max: 'xhigh' } } },
      },
    ],
  },
  groq: {
    hosts: /(^|\.)api\.groq\.com$/,
    allow: [
      ...common,
      'seed',
      'user',
      'service_tier',
      'reasoning_effort',
      'reasoning_format',
      'include_reasoning',
      'search_settings',
      'documents',
      'citation_options',
    ],
    notFromCallers: ['compound_custom'],
    maxTokensField: 'max_completion_tokens',
    stopMax: 4,
    choices: 'one',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    embeddings: textsOnly,
  },
  together: {
    hosts: /(^|\.)api\.together\.(xyz|ai)$/,
    // Its log probabilities are requested with a count, and returned in a different format.
    drop: logprobs,
    maxTokensField: 'max_tokens',
    developerRole: 'system',
    reasoningBack: 'strip',
    embeddings: textsOnly,
  },
  openrouter: {
    hosts: /(^|\.)openrouter\.ai$/,
    // It drops unsupported parameters itself, and requires its reasoning_details back. `provider` chooses the host, whose
    // prices differ (openrouter.ai/docs/features/provider-routing: order, only, sort).
    notFromCallers: ['provider'],
    reasoningBack: 'keep',
    extrasTaken: extraFields,
    embeddings: { batchMax: 256, format: 'both', tokens: 'no' },
  },
  fireworks: {
    hosts: /(^|\.)api\.fireworks\.ai$/,
    maxTokensField: 'max_tokens',
    stopMax: 4,
    developerRole: 'system',
    reasoningBack: 'keep',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no' },
  },
  cerebras: {
    hosts: /(^|\.)api\.cerebras\.ai$/,
    allow: [
      ...common,
      ...logprobs,
      'seed',
      'user',
      'service_tier',
      'reasoning_effort',
      'disable_reasoning',
      'clear_thinking',
    ],
    maxTokensField: 'max_completion_tokens',
    stopMax: 4,
    choices: 'one',
    developerRole: 'system',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    embeddings: textsOnly,
  },
  vllm,
  sglang: { ...vllm },
  tgi: {
    // Dropping the response drops its stream of tokens (router/src/infer/mod.rs), and there is no bill.
    stopsWhenClosed: 'stream',
    allow: [...common, ...penalties, ...logprobs, 'seed', 'logit_bias'],
    maxTokensField: 'max_tokens',
    stopMax: 4,
    choices: 'one',
    schemaKeysDropped: ['strict'],
    developerRole: 'system',
    content: 'string',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    embeddings: { batchMax: 32, format: 'both', tokens: 'no', allow: ['user'] },
  },
  ollama: {
    // The context of the HTTP request cancels the runner (server/routes.go, c.Request.Context()).
    stopsWhenClosed: 'always',
    hosts: /:11434$/,
    // It ignores unknown parameters, which a caller should learn.
    allow: [...common, ...penalties, 'seed', 'reasoning_effort', 'reasoning'],
    maxTokensField: 'max_tokens',
    choices: 'one',
    toolChoice: { none: 'without_tools', required: 'auto', named: 'auto' },
    developerRole: 'system',
    reasoningBack: 'keep',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no', allow: ['dimensions'] },
  },
  lmstudio: {
    hosts: /:1234$/,
    allow: [
      ...common,
      ...penalties,
      'seed',
      'logit_bias',
      'reasoning_effort',
      'top_k',
      'repeat_penalty',
      'ttl',
    ],
    maxTokensField: 'max_tokens',
    choices: 'one',
    toolChoice: { named: 'required' },
    responseFormat: 'json_schema',
    developerRole: 'system',
    reasoningBack: 'strip',
    embeddings: { batchMax: 256, format: 'float', tokens: 'no', allow: [] },
  },
  yandexgpt: {
    hosts: /(^|\.)(ai|llm)\.api\.cloud\.yandex\.net$/,
    allow: [...common, 'reasoning_effort'],
    clamp: { temperature: [0, 1] },
    maxTokensField: 'max_tokens',
    developerRole: 'system',
    messageFields: plainMessage,
    reasoningBack: 'strip',
    // One text in a call, on older models at least.
    embeddings: { batchMax: 1, format: 'float', tokens: 'no', allow: ['dimensions', 'user'] },
    modelTemplate: { chat: 'gpt://{folder}/{model}/latest', embedding: 'emb://{folder}/{model}/latest' },
    headers: { 'openai-project': '{folder}' },
  },
  dashscope: {
    hosts: /(^|\.)dashscope(-intl|-us)?\.aliyuncs\.com$/,
    allow: [
      ...common,
      ...logprobs,
      'presence_penalty',
      'seed',
      'n',
      'reasoning_effort',
      'enable_thinking',
      'thinking_budget',
      'top_k',
      'repetition_penalty',
      'vl_high_resolution_images',
    ],
    // max_tokens bounds the answer, not the thinking (alibabacloud.com/help/en/model-studio/qwen-api-via-openai-chat-completions,
    // max_tokens): only this does.
    notFromCallers: ['thinking_budget'],
    maxTokensField: 'max_tokens',
    toolChoice: { required: 'auto' },
    reasoningEffort: { switch: 'enable_thinking' },
    developerRole: 'system',
    reasoningBack: 'strip',
    extrasTaken: ['cache_control'],
    embeddings: { batchMax: 10, format: 'float', tokens: 'no', allow: ['dimensions'] },
    models: [
      // The open Qwen3 models think by default, and then support streams only.
      { name: /^qwen3-\d/, quirks: { setWhenPlain: { enable_thinking: false } } },
      {
        name: /^qwen3\.8/,
        quirks: {
          reasoningEffort: {
            switch: 'enable_thinking',
            // docs.qwencloud.com, developer-guides/text-generation/thinking
            levels: { minimal: 'low', high: 'xhigh', max: 'xhigh' },
          },
        },
      },
    ],
  },
  moonshot: {
    hosts: /(^|\.)api\.moonshot\.(ai|cn)$/,
    allow: [
      ...common,
      ...penalties,
      'n',
      'reasoning_effort',
      'thinking',
      'prompt_cache_key',
      'safety_identifier',
    ],
    clamp: { temperature: [0, 1] },
    maxTokensField: 'max_tokens',
    stopMax: 5,
    toolChoice: { required: 'auto' },
    reasoningEffort: { switch: 'thinking_type' },
    developerRole: 'system',
    content: 'string',
    reasoningBack: 'keep',
    embeddings: textsOnly,
    models: [
      { name: /thinking|^kimi-k(2\.[5-9]|3)/, quirks: { drop: ['temperature'], reasoningBack: 'require' } },
      // Levels in place of the switch, never both (platform.kimi.ai, guide/use-reasoning-effort).
      { name: /^kimi-k3/, quirks: { drop: ['thinking'], reasoningEffort: { levels: alwaysLowHighMax } } },
    ],
  },
  zhipu: {
    hosts: /(^|\.)(open\.bigmodel\.cn|api\.z\.ai)$/,
    allow: [
      ...common,
      'user',
      'reasoning_effort',
      'thinking',
      'do_sample',
      'request_id',
      'user_id',
      'tool_stream',
    ],
    drop: ['parallel_tool_calls'],
    rename: { user: 'user_id' },
    clamp: { temperature: [0, 1], top_p: [0.01, 1] },
    maxTokensField: 'max_tokens',
    stopMax: 1,
    toolChoice: { none: 'without_tools', required: 'auto', named: 'auto' },
    responseFormat: 'json_object',
    reasoningEffort: { switch: 'thinking_type' },
    developerRole: 'system',
    reasoningBack: 'keep',
    streamUsage: 'always',
    embeddings: { batchMax: 64, format: 'float', tokens: 'no', allow: ['dimensions'] },
    // docs.bigmodel.cn, guide/capabilities/thinking; 5.3 refuses to be turned off.
    models: [
      {
        name: /^glm-5\.2/,
        quirks: {
          reasoningEffort: {
            switch: 'thinking_type',
            levels: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'max' },
          },
        },
      },
      {
        name: /^glm-5\.[3-9]/,
        quirks: { reasoningEffort: { switch: 'thinking_type', levels: alwaysLowHighMax } },
      },
    ],
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
    embeddings: { batchMax: 96, format: 'both', tokens: 'no', allow: ['dimensions'] },
  },
  anthropic: anthropicRow,
  'anthropic-2026-10-21': anthropic2026Row,
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
    // Gemini 3 rejects a call that comes back without its signature: a 400.
    extrasTaken: ['extra_content'],
    embeddings: { batchMax: 100, format: 'float', tokens: 'no', allow: ['dimensions'] },
  },
  'gemini-native': geminiRow,
}
