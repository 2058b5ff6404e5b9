/** A model of the scripted Gemini server, and what it accepts. */
export type GeminiModel = {
  readonly id: string
  readonly inputTokensMax: number
  readonly outputTokensMax: number
  readonly methods: readonly string[]
  /** A function call of the current turn requires its signature. */
  readonly requiresSignatures: boolean
  /** Levels of thinking that it accepts; empty: it has budgets only. */
  readonly thinkingLevels: readonly string[]
  /** Of tokens; from zero: thinking can be off. */
  readonly thinkingBudget: { readonly min: number; readonly max: number } | undefined
  /** Above one, `candidateCount` is rejected. */
  readonly candidatesMax: number
  /** A function declaration next to `responseMimeType: application/json`. */
  readonly acceptsJsonWithTools: boolean
  /** Public HTTPS addresses in `fileUri`, next to those of the Files API. */
  readonly acceptsUrls: boolean
  readonly dimensionsMax: number
}

const generation = ['generateContent', 'countTokens', 'createCachedContent', 'batchGenerateContent']

const thinkingModel = {
  inputTokensMax: 1_048_576,
  outputTokensMax: 65_536,
  methods: generation,
  acceptsUrls: true,
  dimensionsMax: 0,
}

/**
 * Levels: https://ai.google.dev/gemini-api/docs/generate-content/thinking. Signatures:
 * https://ai.google.dev/gemini-api/docs/thought-signatures. One candidate only:
 * https://github.com/googleapis/js-genai/issues/1609. Budgets are accepted as before.
 */
export const gemini3Pro: GeminiModel = {
  ...thinkingModel,
  id: 'gemini-3-pro-preview',
  requiresSignatures: true,
  thinkingLevels: ['LOW', 'HIGH'],
  thinkingBudget: { min: 128, max: 32_768 },
  candidatesMax: 1,
  acceptsJsonWithTools: true,
}

const generation25 = {
  ...thinkingModel,
  requiresSignatures: false,
  thinkingLevels: [],
  candidatesMax: 8,
  acceptsJsonWithTools: false,
}

/** Budgets: https://ai.google.dev/gemini-api/docs/generate-content/thinking#set-budget. */
export const gemini25Flash: GeminiModel = {
  ...generation25,
  id: 'gemini-2.5-flash',
  thinkingBudget: { min: 0, max: 24_576 },
}

export const gemini25Pro: GeminiModel = {
  ...generation25,
  id: 'gemini-2.5-pro',
  thinkingBudget: { min: 128, max: 32_768 },
}

/** It takes only the addresses of the Files API: https://ai.google.dev/gemini-api/docs/file-input-methods. */
export const gemini20Flash: GeminiModel = {
  ...generation25,
  id: 'gemini-2.0-flash',
  outputTokensMax: 8192,
  thinkingBudget: undefined,
  acceptsUrls: false,
}

/** https://ai.google.dev/gemini-api/docs/embeddings: up to 3072 dimensions. */
export const geminiEmbedding: GeminiModel = {
  ...generation25,
  id: 'gemini-embedding-001',
  inputTokensMax: 2048,
  outputTokensMax: 1,
  methods: ['embedContent', 'batchEmbedContents', 'countTextTokens', 'countTokens'],
  thinkingBudget: undefined,
  acceptsUrls: false,
  dimensionsMax: 3072,
}

export const geminiModels: readonly GeminiModel[] = [
  gemini3Pro,
  gemini25Flash,
  gemini25Pro,
  gemini20Flash,
  geminiEmbedding,
]

/** A model as `models.list` gives it. */
export function shownModel(model: GeminiModel): object {
  const generates = model.methods.includes('generateContent')
  return {
    name: `models/${model.id}`,
    version: '001',
    displayName: model.id,
    description: 'Scripted.',
    inputTokenLimit: model.inputTokensMax,
    outputTokenLimit: model.outputTokensMax,
    supportedGenerationMethods: model.methods,
    ...(generates ? { temperature: 1, topP: 0.95, topK: 64, maxTemperature: 2 } : {}),
    ...(model.thinkingBudget === undefined ? {} : { thinking: true }),
  }
}
