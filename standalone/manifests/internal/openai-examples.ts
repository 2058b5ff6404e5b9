/**
 * OpenAI models that `OPENAI_API_KEY` in the environment adds, with EXAMPLE prices in rubles per 1M tokens.
 *
 * The prices are invented for trying things out. They are not an offer by OpenAI or anyone else. To sell access, write
 * your own ModelRoutes, which take precedence. Models and limits: OpenAI's published catalog, 2026-11-20.
 */
export const openAiExamples = [
  chat('gpt-4o-mini', 'GPT-4o mini', 128_000, 16_384, ['15.000', '7.500', '60.000']),
  chat('gpt-4o', 'GPT-4o', 128_000, 16_384, ['250.000', '125.000', '1000.000']),
  chat('gpt-4.1-mini', 'GPT-4.1 mini', 1_047_576, 32_768, ['40.000', '10.000', '160.000']),
  chat('gpt-4.1', 'GPT-4.1', 1_047_576, 32_768, ['200.000', '50.000', '800.000']),
  chat('gpt-5-mini', 'GPT-5 mini', 400_000, 128_000, ['25.000', '2.500', '200.000']),
  chat('gpt-5', 'GPT-5', 400_000, 128_000, ['125.000', '12.500', '1000.000']),
  chat('o4-mini', 'o4-mini', 200_000, 100_000, ['110.000', '27.500', '440.000']),
  embedding('text-embedding-3-small', 'Text embedding 3 small', '2.000'),
  embedding('text-embedding-3-large', 'Text embedding 3 large', '13.000'),
] as const

function chat(
  model: string,
  displayName: string,
  contextLength: number,
  maxOutputTokens: number,
  [input, cachedInput, output]: readonly [string, string, string],
) {
  const pricingRubPerMillionTokens = { input, cachedInput, output }
  return { model, type: 'chat', displayName, contextLength, maxOutputTokens, pricingRubPerMillionTokens }
}

function embedding(model: string, displayName: string, input: string) {
  const contextLength = 8192
  return { model, type: 'embedding', displayName, contextLength, pricingRubPerMillionTokens: { input } }
}
