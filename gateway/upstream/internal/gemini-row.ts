import { limits, logprobs, penalties, sampling, structure } from './parameter-lists.ts'
import type { EffortLevels, GeminiModel, ProviderRow } from './quirks.ts'

/** Of Gemini's own API. Sources: https://ai.google.dev/gemini-api, read 2026-11-20. */
const gemini3: GeminiModel = {
  thinking: { kind: 'level' },
  signsCalls: true, // guide to thought signatures
  jsonWithTools: true, // guide to structured output
  candidatesMax: 1, // https://github.com/googleapis/js-genai/issues/1609
}
const gemini25: Omit<GeminiModel, 'thinking'> = {
  signsCalls: false,
  jsonWithTools: false,
  candidatesMax: 8,
}
/** guide to thinking: Pro since 3.1, and Flash since 3.7, think at three levels. */
const lowMediumHigh: EffortLevels = { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' }

const geminiModels: NonNullable<ProviderRow['models']> = [
  {
    // "Penalty is not enabled for this model" (google-gemini/cookbook#1290), "Logprobs is not enabled" (python-genai#1921).
    name: /(^|\/)gemini-(2\.5|[3-9]|(pro|flash|flash-lite)-latest)/,
    quirks: { drop: [...penalties, ...logprobs] },
  },
  // guide to thinking, budgets
  {
    name: /(^|\/)gemini-2\.5-flash/,
    quirks: {
      gemini: { ...gemini25, thinking: { kind: 'budget', min: 1, max: 24_576, off: true } },
      reasoningEffort: { levels: { minimal: 'low', xhigh: 'high', max: 'high' } },
    },
  },
  {
    name: /(^|\/)gemini-2\.5-flash-lite/,
    quirks: {
      gemini: { ...gemini25, thinking: { kind: 'budget', min: 512, max: 24_576, off: true, unasked: 'off' } },
    },
  },
  {
    name: /(^|\/)gemini-2\.5-pro/,
    quirks: {
      gemini: { ...gemini25, thinking: { kind: 'budget', min: 128, max: 32_768, off: false } },
      reasoningEffort: { levels: lowMediumHigh },
    },
  },
  // Models for images and speech do not think, and take no functions.
  {
    name: /(^|\/)gemini-2\.5-.*(image|tts|audio)/,
    quirks: { gemini: { ...gemini25, thinking: { kind: 'none' } }, reasoningEffort: {} },
  },
  {
    name: /(^|\/)gemini-([3-9]|(pro|flash|flash-lite)-latest)/,
    quirks: {
      gemini: gemini3,
      reasoningEffort: { levels: { none: 'minimal', xhigh: 'high', max: 'high' } },
    },
  },
  {
    name: /(^|\/)gemini-(3\.[1-9]-pro|3\.[7-9]-flash|[4-9]|pro-latest)/,
    quirks: { reasoningEffort: { levels: lowMediumHigh } },
  },
  {
    name: /(^|\/)gemini-3-pro/,
    quirks: { reasoningEffort: { levels: { ...lowMediumHigh, medium: 'high' } } },
  },
  // They reject what steers sampling (list of models).
  { name: /(^|\/)gemini-(3\.[6-9]-flash|3\.5-flash-lite)/, quirks: { drop: sampling } },
]

/** Gemini's own API. */
export const geminiRow: ProviderRow = {
  // What its adapter has a name for (adapters/gemini/settings.ts). Only a route sets other parameters, under Gemini's names.
  allow: [
    ...sampling,
    ...limits,
    ...penalties,
    ...logprobs,
    ...structure,
    'tools',
    'tool_choice',
    'seed',
    'n',
    'reasoning_effort',
  ],
  clamp: { temperature: [0, 2] },
  maxTokensField: 'max_tokens',
  stopMax: 5,
  // A model without a level does not think.
  reasoningEffort: {},
  developerRole: 'system',
  reasoningBack: 'keep',
  extrasTaken: ['extra_content', 'reasoning_details'],
  gemini: { ...gemini25, thinking: { kind: 'none' } },
  embeddings: { batchMax: 100, format: 'float', tokens: 'no', allow: ['dimensions'] },
  models: geminiModels,
}
