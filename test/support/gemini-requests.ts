import { FunctionCallingConfigMode, type GoogleGenAI, ThinkingLevel, Type } from '@google/genai'
import { gemini3Pro, gemini20Flash, gemini25Flash, gemini25Pro, geminiEmbedding } from './gemini-models.ts'
import { geminiSignature } from './gemini-signature.ts'

const model = gemini3Pro.id
/** An image of one pixel. */
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
export const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/** Requests that the SDK sends and the server accepts. */
export const geminiRequests = {
  text: (ai) => ai.models.generateContent({ model, contents: 'Hi' }),
  full: (ai) =>
    ai.models.generateContent({
      model: gemini25Flash.id,
      contents: [
        {
          role: 'user',
          parts: [{ text: 'Hi' }, { inlineData: { mimeType: 'image/png', data: png } }],
        },
        { role: 'model', parts: [{ text: 'Hello' }] },
        {
          role: 'user',
          parts: [{ fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } }],
        },
      ],
      config: {
        systemInstruction: 'Be brief.',
        temperature: 2,
        topP: 1,
        topK: 0,
        candidateCount: 8,
        maxOutputTokens: 65_536,
        stopSequences: ['1', '2', '3', '4', '5'],
        seed: 7,
        thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true },
      },
    }),
  unthinking: (ai) =>
    ai.models.generateContent({
      model: gemini25Flash.id,
      contents: 'Hi',
      config: { thinkingConfig: { thinkingBudget: 0 } },
    }),
  thinking: (ai) =>
    ai.models.generateContent({
      model,
      contents: 'Hi',
      config: { thinkingConfig: { thinkingLevel: ThinkingLevel.LOW } },
    }),
  pro: (ai) =>
    ai.models.generateContent({
      model: gemini25Pro.id,
      contents: 'Hi',
      config: { thinkingConfig: { thinkingBudget: 128 } },
    }),
  file: (ai) =>
    ai.models.generateContent({
      model: gemini20Flash.id,
      contents: [
        {
          fileData: {
            fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc',
            mimeType: 'image/png',
          },
        },
      ],
    }),
  schema: (ai) =>
    ai.models.generateContent({
      model,
      contents: 'Hi',
      config: {
        responseMimeType: 'application/json',
        responseSchema: {
          type: Type.OBJECT,
          properties: { tags: { type: Type.ARRAY, items: { type: Type.STRING }, maxItems: '4' } },
          required: ['tags'],
        },
      },
    }),
  jsonSchema: (ai) =>
    ai.models.generateContent({
      model,
      contents: 'Hi',
      config: {
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object', additionalProperties: false },
      },
    }),
  tools: (ai) =>
    ai.models.generateContent({
      model: gemini25Flash.id,
      contents: 'Hi',
      config: {
        tools: [
          {
            functionDeclarations: [
              weather,
              {
                name: 'dotted.name:of-64',
                parameters: {
                  type: Type.OBJECT,
                  properties: { unit: { type: Type.STRING, enum: ['C', 'F'] } },
                },
              },
            ],
          },
        ],
        toolConfig: {
          functionCallingConfig: {
            mode: FunctionCallingConfigMode.ANY,
            allowedFunctionNames: ['get_weather'],
          },
        },
      },
    }),
  calls: (ai) =>
    ai.models.generateContent({
      model,
      contents: [
        { role: 'user', parts: [{ text: 'Kazan, Omsk?' }] },
        {
          role: 'model',
          parts: [
            {
              functionCall: { name: 'get_weather', args: { city: 'Kazan' } },
              thoughtSignature: geminiSignature(),
            },
            { functionCall: { name: 'get_weather', args: { city: 'Omsk' } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'get_weather', response: { output: 'rain' } } },
            { functionResponse: { name: 'get_weather', response: { output: 'snow' } } },
          ],
        },
      ],
      config: { tools: [{ functionDeclarations: [weather] }] },
    }),
  pastCalls: (ai) =>
    ai.models.generateContent({
      model,
      contents: [
        { role: 'user', parts: [{ text: 'Kazan?' }] },
        { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Kazan' } } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'get_weather', response: { output: 'rain' } } }],
        },
        { role: 'model', parts: [{ text: 'Rain.' }] },
        { role: 'user', parts: [{ text: 'Thanks.' }] },
      ],
    }),
  tokens: (ai) => ai.models.countTokens({ model, contents: 'Hi' }),
  vectors: (ai) =>
    ai.models.embedContent({
      model: geminiEmbedding.id,
      contents: ['a', 'b'],
      config: { outputDimensionality: 3072, taskType: 'RETRIEVAL_QUERY' },
    }),
} satisfies Readonly<Record<string, (ai: GoogleGenAI) => Promise<unknown>>>

/** Another value for one place; `undefined` removes it. */
export type Edit = readonly [place: string, value: unknown]

/** An accepted request, one change of it, and the words that reject the result. */
export type Rule = readonly [name: string, of: keyof typeof geminiRequests, edit: Edit, message: string]

/** A copy of a request with the edit. */
export function edited(body: unknown, [place, value]: Edit): unknown {
  const copy = structuredClone(body)
  const names = place.split('.')
  const last = names.pop() ?? ''
  let at = copy as Record<string, unknown>
  for (const name of names) at = at[name] as Record<string, unknown>
  if (value !== undefined) at[last] = value
  else if (Array.isArray(at)) at.splice(Number(last), 1)
  else delete at[last]
  return copy
}
