/**
 * Every parameter of a chat request on OpenAI's wire except `model`, `messages` and `stream`; anything else a caller
 * sends is some provider's own. From OpenAI's published schema, commit f85dbe2, read 2026-11-20.
 */
export const openAiParameters = [
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'metadata',
  'modalities',
  'moderation',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
  'verbosity',
  'web_search_options',
] as const

const names: ReadonlySet<string> = new Set(openAiParameters)

/** A parameter's name as a metric's label: one of OpenAI's, or `other`. Callers may send any name. */
export function parameterLabelOf(parameter: string): string {
  return names.has(parameter) ? parameter : 'other'
}

/** Dropped parameters that are named. */
const namedMax = 32
/** Characters of a name that are shown; OpenAI's longest has 22. */
const nameLengthMax = 64

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const unprintable = /[\u0000-\u001f\u007f]/g

/**
 * The names of dropped parameters, for headers, records and error texts: the first 32, each of at most 64 characters
 * that can be printed. They are the caller's text: a body may hold a million of them, and Postgres keeps no NUL.
 */
export function namesShown(dropped: readonly string[]): readonly string[] {
  return dropped.slice(0, namedMax).map(nameShown)
}

function nameShown(name: string): string {
  return name.slice(0, nameLengthMax).toWellFormed().replace(unprintable, '\uFFFD')
}
