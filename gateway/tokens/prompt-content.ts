import { fieldsOf, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { isText } from '../wire/long-text.ts'
import { openAiParameters } from '../wire/openai-parameters.ts'
import type { RelayedApi } from '../wire/relayed-api.ts'

/** The bounds of a prompt, for any model; found only by names, without looking into any text. */
export type PromptContent = {
  /** Bytes that a tokenizer may see, and what a chat template adds to them: never less than the tokens of text. */
  readonly bytes: number
  /** How many prompts these are: each is at most as long as the model's context. More than 1 only in embeddings. */
  readonly prompts: number
  /** Path of the first content whose size is not that of its bytes: media, or a reference. `null`: all of it is text. */
  readonly outside: string | null
  /** Parameters unknown to the gateway: a provider that receives them may add content for them. */
  readonly unknownParameters: readonly string[]
  /** The API whose backends also get parts that a chat has no place for, of any size; absent: there are none. */
  readonly unseenAt?: RelayedApi
}

/**
 * Tokens that a chat template adds in addition to those of the body's own punctuation, which stands for at least as many:
 * default system messages and dates (gpt-oss: some 100, Llama 3.1: 30).
 */
const templateTokens = 256
/** The same where tools are described: Anthropic's preamble for them has up to 530 (docs, tool-use overview, 2026-11-20). */
const toolTemplateTokens = 1_024

/** Parameters beyond OpenAI's that steer sampling, format or reasoning and add nothing to the prompt but their own bytes. */
const inertExtras = [
  // vLLM and SGLang (docs.vllm.ai, "OpenAI-Compatible Server: extra parameters"), llama.cpp, Ollama, LM Studio
  'top_k',
  'min_p',
  'top_a',
  'typical_p',
  'tfs_z',
  'repetition_penalty',
  'repeat_penalty',
  'length_penalty',
  'min_tokens',
  'ignore_eos',
  'stop_token_ids',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'include_stop_str_in_output',
  'add_generation_prompt',
  'continue_final_message',
  'add_special_tokens',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
  'structured_outputs',
  'chat_template_kwargs',
  'separate_reasoning',
  'stream_reasoning',
  'cache_prompt',
  'ttl',
  'keep_alive',
  // reasoning, by provider rows
  'reasoning',
  'thinking',
  'thinking_budget',
  'enable_thinking',
  'include_reasoning',
  'reasoning_format',
  'reasoning_split',
  'disable_reasoning',
  'clear_thinking',
  'prompt_mode',
  // Mistral, Zhipu, OpenRouter
  'random_seed',
  'safe_prompt',
  'guardrails',
  'do_sample',
  'request_id',
  'user_id',
  'tool_stream',
  'provider',
  'transforms',
  'usage',
]
const inert: ReadonlySet<string> = new Set([
  ...openAiParameters,
  ...inertExtras,
  'model',
  'messages',
  'stream',
])

/** Fields of a message whose text is in the body. Any other may be a reference (`file_ids`, `attachments`). */
const inertInMessages: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'refusal',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'annotations',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'extra_content',
  'cache_control',
  'prefix',
  'partial',
  'index',
  'weight',
])
const inertInParts: ReadonlySet<string> = new Set(['type', 'text', 'refusal', 'cache_control', 'annotations'])
/** Calls that the caller answered itself; what others have read for the model is not in the body. */
const callersCalls: ReadonlySet<unknown> = new Set(['function', 'custom', undefined])

/**
 * The bounds of the prompt of a chat request that came in a body of `bodyBytes`. Checks only names, so it
 * takes microseconds.
 */
export function contentOf(request: JsonObject, bodyBytes: number): PromptContent {
  const unknownParameters: string[] = []
  for (const name in request) if (!isInert(name, request[name])) unknownParameters.push(name)
  const describesTools = request.tools !== undefined || request.functions !== undefined
  return {
    bytes: bodyBytes + (describesTools ? toolTemplateTokens : templateTokens),
    prompts: 1,
    outside: findOutside(request),
    unknownParameters,
  }
}

/** Whether a parameter adds nothing to a prompt but its own bytes. The tools of callers are their own: others are dropped. */
export function isInert(name: string, value: unknown): boolean {
  if (inert.has(name)) return true
  return name === 'extra_body' && isThinkingConfig(value)
}

/** The one extra of Gemini's compatible endpoint that refers to nothing (ai.google.dev/gemini-api/docs/openai). */
function isThinkingConfig(value: unknown): boolean {
  const google = fieldsOf(fieldsOf(value)?.google)
  const names = [...Object.keys(fieldsOf(value) ?? {}), ...Object.keys(google ?? {})]
  return google !== undefined && names.every((name) => name === 'google' || name === 'thinking_config')
}

/** Whether some of these tools are run by the provider, which reads for the model what they find. */
export function hasProvidersTools(tools: unknown): boolean {
  return itemsOf(tools).some((tool) => !callersCalls.has(fieldsOf(tool)?.type))
}

function findOutside({ messages }: JsonObject): string | null {
  for (const [at, message] of itemsOf(messages).entries()) {
    const place = findOutsideOf(fieldsOf(message) ?? {})
    if (place !== null) return `messages[${at}]${place}`
  }
  return null
}

function findOutsideOf(message: JsonObject): string | null {
  const field = findReference(message)
  if (field !== null) return field
  for (const [at, part] of itemsOf(message.content).entries())
    if (!isTextPart(fieldsOf(part) ?? {})) return `.content[${at}]`
  return null
}

/** A field of a message that may refer to something outside of the body, its content apart. */
export function findReference(message: JsonObject): string | null {
  for (const name in message) if (!inertInMessages.has(name)) return `.${name}`
  for (const [at, call] of itemsOf(message.tool_calls).entries())
    if (!callersCalls.has(fieldsOf(call)?.type)) return `.tool_calls[${at}]`
  return null
}

/** A part that is only text, regardless of its other fields. */
export function isTextPart(part: JsonObject): boolean {
  if (part.type !== 'text' && part.type !== 'refusal') return false
  for (const name in part) if (!inertInParts.has(name)) return false
  return isText(part.text ?? part.refusal ?? '')
}
