import type { RelayedApi } from '../../wire/relayed-api.ts'
import type { extraFields } from './extra-fields.ts'

/**
 * How a provider differs from OpenAI's API, as data: which parameters a request may have and in which format.
 * Whatever is left out is as OpenAI has it. Responses need no row: the normalizers read every provider's
 * (`../chat`).
 */
export type ProviderQuirks = {
  /** The API besides chat completions whose clients' requests are relayed to it; `none` for a model that lacks it. */
  readonly native?: RelayedApi | 'none'
  /** The API by which it is asked for chats of clients of other APIs; absent: that of its adapter. */
  readonly chat?: 'responses'
  /** It returns reasoning encrypted on request, and rejects the request for it otherwise. */
  readonly encryptsReasoning?: true
  /** The only parameters of a chat that reach it; absent: all, including those unknown to OpenAI. */
  readonly allow?: readonly string[]
  /** Parameters that it rejects or ignores. */
  readonly drop?: readonly string[]
  /**
   * Its own parameters that would cost more than the model's price and hold cover. Only a route's rules send
   * them, like those of `routes-alone.ts`.
   */
  readonly notFromCallers?: readonly string[]
  /** Rejected only while the model reasons: when `reasoning_effort` is there and is not `none`. */
  readonly dropWhenReasoning?: readonly string[]
  /** OpenAI's name → its own. */
  readonly rename?: Readonly<Record<string, string>>
  /** Numbers are brought into this range. */
  readonly clamp?: Readonly<Record<string, readonly [min: number, max: number]>>
  /** Sent with non-streaming requests, regardless of the caller's value. */
  readonly setWhenPlain?: Readonly<Record<string, unknown>>
  /** Its name for the limit of output tokens; absent: both of OpenAI's names are passed on unchanged. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /**
   * It rejects requests without a limit of output tokens. This one is sent if neither the route nor the request has one.
   */
  readonly outputLimitRequired?: number
  /** Stop sequences that it takes; more are cut off. */
  readonly stopMax?: number
  /** `one`: it does not support `n`. */
  readonly choices?: 'one'
  /** Replacements for a `tool_choice` that it does not support; `named` is that of one function. */
  readonly toolChoice?: Readonly<
    Partial<Record<'none' | 'required' | 'named', 'any' | 'required' | 'auto' | 'without_tools'>>
  >
  /**
   * The structured output that it supports. What it does not accept is added to the prompt. `schema_only`: it takes no JSON
   * without a schema. `prompt`: none.
   */
  readonly responseFormat?: 'json_object' | 'json_schema' | 'schema_only' | 'prompt'
  /** Its replacement for OpenAI's `reasoning_effort`; absent: that, with the requested level. */
  readonly reasoningEffort?: {
    /**
     * The parameter that turns thinking on and off: `thinking: {type}`, or `enable_thinking: boolean`. It
     * then represents `none`.
     */
    readonly switch?: 'thinking_type' | 'enable_thinking'
    /**
     * Replacements for levels that it does not support. Absent: it supports none, and decides itself how much
     * it thinks.
     */
    readonly levels?: EffortLevels
  }
  /** Keywords of JSON schemas that it rejects, in tools and in `response_format`. */
  readonly schemaKeysDropped?: readonly string[]
  /** `system`: it does not support the role `developer`. */
  readonly developerRole?: 'system'
  /** `string`: it takes no list of parts where all of them are text. */
  readonly content?: 'string'
  /** The only fields of a message that it takes; absent: all. */
  readonly messageFields?: readonly string[]
  /** Roles whose messages may have a `name`; absent: all. */
  readonly nameRoles?: readonly ('user' | 'assistant' | 'tool')[]
  /** Reasoning in an assistant's earlier messages; `require`: every tool call must come with some. */
  readonly reasoningBack: 'strip' | 'keep' | 'require'
  /**
   * Which fields beyond OpenAI's it takes, wherever they are; absent: none, since most reject unknown fields.
   */
  readonly extrasTaken?: readonly (typeof extraFields)[number][]
  /** `always`: usage ends its streams unasked, and `stream_options` are not for it. */
  readonly streamUsage?: 'always'
  /**
   * Closing the connection ends both the generation and its bill, `stream`: of streams only. Absent: not
   * known, so an abandoned response is read to its end.
   */
  readonly stopsWhenClosed?: 'stream' | 'always'
  /** What models of Anthropic's own API differ in. */
  readonly anthropic?: AnthropicModel
  /** What models of Gemini's own API differ in. */
  readonly gemini?: GeminiModel
  readonly embeddings: {
    /** Texts in one call. */
    readonly batchMax: number
    /** `float`: it does not support base64. */
    readonly format: 'float' | 'both'
    /** `yes`: it takes arrays of cl100k_base's tokens; `no`: texts only, since its models have other tokens. */
    readonly tokens: 'yes' | 'no'
    /** The only parameters that reach it besides `input` and its format; absent: all. */
    readonly allow?: readonly string[]
    /** OpenAI's name → its own. */
    readonly rename?: Readonly<Record<string, string>>
  }
  /** After its base address; `{model}` is the model's name there. */
  readonly paths?: { readonly chat: string; readonly embeddings: string }
  /** Its name of a model: `{model}` is the backend's, the rest comes from the provider's `template`. */
  readonly modelTemplate?: { readonly chat: string; readonly embedding: string }
  /** Headers of every call, with the same places; one that the provider sets itself stays. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Differences between the models of Anthropic's Messages API. */
export type AnthropicModel = {
  /** `adaptive`: it decides how much it thinks, by an effort. `budget`: it is given a number of tokens. */
  readonly thinking: 'adaptive' | 'budget' | 'none'
  /** How thinking is turned off; absent: it cannot be. */
  readonly off?: 'disabled' | 'between_tools'
  /** It takes strict tools. */
  readonly strictTools: boolean
  /** `tool_choice` may force a tool. */
  readonly forcedTools: boolean
  /** Whether it takes temperature and top_p: neither, one of them, both. */
  readonly sampling: 'none' | 'one' | 'both'
}

/** Differences between the models of Gemini's `generateContent`. */
export type GeminiModel = {
  /**
   * `level`: one of a few, which the row maps `reasoning_effort` to. `budget`: a number of tokens, in this range; 0 turns
   * it off where `off` is true, and `unasked: 'off'`: without a budget it does not think.
   */
  readonly thinking:
    | { readonly kind: 'level' }
    | {
        readonly kind: 'budget'
        readonly min: number
        readonly max: number
        readonly off: boolean
        readonly unasked?: 'off'
      }
    | { readonly kind: 'none' }
  /** It rejects calls that come back without their signature. */
  readonly signsCalls: boolean
  /** It takes a JSON response format together with functions. */
  readonly jsonWithTools: boolean
  /** Most answers to one request. */
  readonly candidatesMax: number
}

/** Levels of `reasoning_effort` → those that take their place; others stay as they are. */
export type EffortLevels = Readonly<Partial<Record<Effort, Effort>>>
type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** A kind of provider: what all of its models have in common, and what is different for some. */
export type ProviderRow = ProviderQuirks & {
  /** Hosts, with their port, that are of this kind unless the provider sets another. */
  readonly hosts?: RegExp
  /** Every one that fits a model's name counts, in order; their `drop`s add up. */
  readonly models?: readonly { readonly name: RegExp; readonly quirks: Partial<ProviderQuirks> }[]
}
