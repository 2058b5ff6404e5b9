/**
 * Models that a provider's key in the environment adds, with EXAMPLE prices in rubles per 1M tokens.
 *
 * The prices are invented for trying things out. They are not an offer by these providers or anyone else. To sell access,
 * write your own ModelRoutes, which take precedence.
 */

/** Models and limits: OpenAI's published catalog, 2026-11-20. */
export const openAiExamples = [
  chat('gpt-4o-mini', 'GPT-4o mini', [128_000, 16_384], ['15.000', '7.500', '60.000']),
  chat('gpt-4o', 'GPT-4o', [128_000, 16_384], ['250.000', '125.000', '1000.000']),
  chat('gpt-4.1-mini', 'GPT-4.1 mini', [1_047_576, 32_768], ['40.000', '10.000', '160.000']),
  chat('gpt-4.1', 'GPT-4.1', [1_047_576, 32_768], ['200.000', '50.000', '800.000']),
  chat('gpt-5-mini', 'GPT-5 mini', [400_000, 128_000], ['25.000', '2.500', '200.000']),
  chat('gpt-5', 'GPT-5', [400_000, 128_000], ['125.000', '12.500', '1000.000']),
  chat('o4-mini', 'o4-mini', [200_000, 100_000], ['110.000', '27.500', '440.000']),
  embedding('text-embedding-3-small', 'Text embedding 3 small', 8_192, '2.000'),
  embedding('text-embedding-3-large', 'Text embedding 3 large', 8_192, '13.000'),
]

/** Models and limits: Anthropic's models overview (platform.claude.com/docs), 2026-11-25. Writing to its cache costs a quarter more than reading a prompt. */
export const anthropicExamples = [
  chat('claude-opus-5', 'Claude Opus 5', [1_000_000, 128_000], ['500.000', '50.000', '2500.000', '625.000']),
  chat(
    'claude-sonnet-5-5',
    'Claude Sonnet 5.5',
    [1_000_000, 128_000],
    ['300.000', '30.000', '1500.000', '375.000'],
  ),
  chat(
    'claude-haiku-4-5',
    'Claude Haiku 4.5',
    [200_000, 64_000],
    ['100.000', '10.000', '500.000', '125.000'],
  ),
]

/** Models and limits: Gemini API models (ai.google.dev/gemini-api/docs/models), 2026-11-25. */
export const geminiExamples = [
  chat('gemini-3-pro-preview', 'Gemini 3 Pro', [1_048_576, 65_536], ['200.000', '20.000', '1200.000']),
  chat('gemini-2.5-flash', 'Gemini 2.5 Flash', [1_048_576, 65_536], ['30.000', '3.000', '250.000']),
  embedding('gemini-embedding-001', 'Gemini Embedding', 2_048, '15.000'),
]

export type ExampleModel = ReturnType<typeof chat> | ReturnType<typeof embedding>

function chat(
  model: string,
  displayName: string,
  [contextLength, maxOutputTokens]: readonly [number, number],
  [input, cachedInput, output, cacheWrite]: readonly [string, string, string, string?],
) {
  const pricingRubPerMillionTokens = {
    input,
    cachedInput,
    output,
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  }
  const type = 'chat' as const
  return { model, type, displayName, contextLength, maxOutputTokens, pricingRubPerMillionTokens }
}

function embedding(model: string, displayName: string, contextLength: number, input: string) {
  const type = 'embedding' as const
  return { model, type, displayName, contextLength, pricingRubPerMillionTokens: { input } }
}
