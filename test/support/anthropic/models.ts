/** What `thinking.type` can be, where a model accepts it. */
type ThinkingType = 'adaptive' | 'between_tools' | 'disabled' | 'enabled'

/** What one of Anthropic's models accepts. */
export type ClaudeModel = {
  readonly id: string
  readonly name: string
  readonly createdAt: string
  readonly inputTokensMax: number
  readonly outputTokensMax: number
  readonly thinking: readonly ThinkingType[]
  /** Of thinking that the request asked for without a `display`. */
  readonly display: 'summarized' | 'omitted'
  /** Its thinking blocks are valid only after the same system prompt, tools and turns. */
  readonly bindsThinking: boolean
  readonly efforts: readonly string[]
  readonly sampling: 'all' | 'temperature or top_p' | 'defaults only'
  readonly structuredOutputs: boolean
  /** `tool_choice` can be `any` or `tool`. */
  readonly forcedTools: boolean
  /** The last turn can be the assistant's, to be continued. */
  readonly prefill: boolean
  /** The first turn can be the assistant's. */
  readonly assistantFirst: boolean
  /** `role: system` between the turns. */
  readonly systemTurns: boolean
}

const upToMax = ['low', 'medium', 'high', 'xhigh', 'max']

/**
 * A model of each generation, newest first. Thinking: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
 * Limits of output, effort, sampling, prefill, first and system turns: reports of requests to the API, 2026-07 to 2026-10.
 */
export const claudeModels: readonly ClaudeModel[] = [
  {
    id: 'claude-sonnet-5-5',
    name: 'Claude Sonnet 5.5',
    createdAt: '2026-09-22T00:00:00Z',
    inputTokensMax: 1_000_000,
    outputTokensMax: 128_000,
    thinking: ['adaptive', 'between_tools'],
    display: 'omitted',
    bindsThinking: true,
    efforts: upToMax,
    sampling: 'defaults only',
    structuredOutputs: true,
    forcedTools: false,
    prefill: false,
    assistantFirst: true,
    systemTurns: true,
  },
  {
    id: 'claude-opus-5',
    name: 'Claude Opus 5',
    createdAt: '2026-07-24T00:00:00Z',
    inputTokensMax: 1_000_000,
    outputTokensMax: 128_000,
    thinking: ['adaptive', 'disabled'],
    display: 'omitted',
    bindsThinking: false,
    efforts: upToMax,
    sampling: 'defaults only',
    structuredOutputs: true,
    forcedTools: true,
    prefill: false,
    assistantFirst: true,
    systemTurns: true,
  },
  {
    id: 'claude-opus-4-6',
    name: 'Claude Opus 4.6',
    createdAt: '2026-02-04T00:00:00Z',
    inputTokensMax: 1_000_000,
    outputTokensMax: 128_000,
    thinking: ['adaptive', 'disabled', 'enabled'],
    display: 'summarized',
    bindsThinking: false,
    efforts: ['low', 'medium', 'high', 'max'],
    sampling: 'temperature or top_p',
    structuredOutputs: true,
    forcedTools: true,
    prefill: false,
    assistantFirst: true,
    systemTurns: false,
  },
  {
    id: 'claude-haiku-4-5',
    name: 'Claude Haiku 4.5',
    createdAt: '2025-10-15T00:00:00Z',
    inputTokensMax: 200_000,
    outputTokensMax: 64_000,
    thinking: ['disabled', 'enabled'],
    display: 'summarized',
    bindsThinking: false,
    efforts: [],
    sampling: 'temperature or top_p',
    structuredOutputs: true,
    forcedTools: true,
    prefill: true,
    assistantFirst: true,
    systemTurns: false,
  },
  {
    id: 'claude-3-5-haiku',
    name: 'Claude Haiku 3.5',
    createdAt: '2024-10-22T00:00:00Z',
    inputTokensMax: 200_000,
    outputTokensMax: 8_192,
    thinking: ['disabled'],
    display: 'summarized',
    bindsThinking: false,
    efforts: [],
    sampling: 'all',
    structuredOutputs: false,
    forcedTools: true,
    prefill: true,
    assistantFirst: false,
    systemTurns: false,
  },
]

/** A model, or a snapshot of it: its name, and after a hyphen at least four characters (a date, the name of a test). */
export function findModel(id: string): ClaudeModel | undefined {
  return claudeModels.find(
    (model) => id === model.id || (id.startsWith(model.id) && /^-[\w-]{4,}$/.test(id.slice(model.id.length))),
  )
}

/** What differs between the versions: platform.claude.com/docs/en/api/versioning. */
export type ApiVersion = {
  readonly sampling: boolean
  readonly documentsOfAssistant: boolean
  readonly citationsOfUser: boolean
}

export const apiVersions: Readonly<Record<string, ApiVersion>> = {
  '2023-06-01': { sampling: true, documentsOfAssistant: true, citationsOfUser: true },
  '2026-10-21': { sampling: false, documentsOfAssistant: false, citationsOfUser: false },
}
