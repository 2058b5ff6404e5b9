/** Kinds that only a provider's codes and messages reveal, if its status is only 400. */
type SaidKind = 'credential' | 'overloaded' | 'context_length' | 'content_policy'

/**
 * The kind of failure by a provider's codes, otherwise by its message; `undefined`: not recognized.
 *
 * A client that can fake a credential failure could close a backend for every organization. So for that, and
 * for a limit of our account, a code must match as a whole. A message must match at its very start, where no
 * provider quotes the request.
 */
export function findSaidKind(codes: readonly string[], message: string): SaidKind | undefined {
  if (codes.some((code) => credentialCodes.test(code)) || credentialWords.test(message)) return 'credential'
  if (codes.some((code) => limitCodes.test(code)) || limitWords.test(message)) return 'overloaded'
  if (codes.some((code) => contextCodes.test(code)) || contextWords.test(message)) return 'context_length'
  if (codes.some((code) => policyCodes.test(code)) || policyWords.test(message)) return 'content_policy'
  return undefined
}

/** Our key is not known there, or our account has not been paid for. Sent with 400 by Gemini, DashScope, OpenAI. */
const credentialCodes = wholly(
  'api_key_invalid',
  'invalid_api_key',
  'authentication_error',
  'arrearage',
  'billing_(?:hard_limit_reached|not_active|error)',
  'insufficient_quota',
)
const credentialWords = firstOf(
  '^(?:incorrect|invalid) api[- ]key', // xAI
  '^api key (?:not valid|not found|expired)', // Gemini
  '^user location is not supported', // Gemini: the gateway's location, as it sees no other
  '^gemini api free tier is not available in your country', // Gemini
  '^your api key was reported as leaked', // Gemini
  '^access denied, please make sure your account', // DashScope
  '^billing hard limit has been reached', // OpenAI
  '^your credit balance is too low', // Anthropic
)

/** More than our account may send in a minute. Sent with 413 by Groq if a single request exceeds it. */
const limitCodes = wholly('rate_limit_exceeded')
const limitWords = firstOf('^request too large for .{1,300} on tokens per min')

const contextCodes = wholly(
  'context_length_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error', // llama.cpp
  '1261', // Zhipu
)
const contextWords = firstOf(
  'context[ _]length',
  'maximum context',
  'context window',
  'available context size', // llama.cpp
  'exceed context limit', // Anthropic
  'too many tokens', // Cohere
  '(?:prompt|input) is too long', // Anthropic, Fireworks, Bedrock
  'prompt exceeds max length', // Zhipu
  'maximum (?:prompt|model) length', // xAI, vLLM
  'exceeded model token limit', // Moonshot
  'range of input length should be', // DashScope
  'number of input tokens must be no more than', // YandexGPT
  'text length is \\d+, which is outside the range', // YandexGPT
  '`inputs` (?:tokens \\+ `max_new_tokens` must be|must have less than)', // TGI, Together
  'n_keep \\(\\d+\\) >= n_ctx', // LM Studio
  'input (?:token|length).{0,80}exceed', // Gemini
)

const policyCodes = wholly(
  'content_(?:policy|filter)\\w*',
  'data_?inspection_?failed', // DashScope
  'responsibleaipolicyviolation', // Azure
  '1301', // Zhipu
)
const policyWords = firstOf(
  'content[ _](?:management )?(?:policy|filter)',
  'safety system',
  'data_inspection_failed',
  'requires moderation', // OpenRouter
  'responsible ai',
  'content exists risk', // DeepSeek
)

function wholly(...codes: readonly string[]): RegExp {
  return new RegExp(`^(?:${codes.join('|')})$`, 'i')
}

function firstOf(...words: readonly string[]): RegExp {
  return new RegExp(words.join('|'), 'i')
}
