// Three steps of a tool, then an object by a schema. VERSION: 6 or 7. WAY: whole or streamed.
import { z } from 'zod'

const providers = { 6: '@ai-sdk/openai-3', 7: '@ai-sdk/openai-4' }
const { VERSION, WAY, MODEL, STORE = 'false' } = process.env
const { generateText, streamText, Output, stepCountIs, isStepCount, tool } = await import(`ai-${VERSION}`)
const { createOpenAI } = await import(providers[VERSION])

const openai = createOpenAI()
const stopAfter = isStepCount ?? stepCountIs
const providerOptions = STORE === 'default' ? {} : { openai: { store: STORE === 'true' } }
const cities = []
const getWeather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    cities.push(city)
    return { city, degrees: cities.length }
  },
})

async function ask(options) {
  if (WAY === 'whole') return generateText(options)
  const result = streamText({
    ...options,
    onError: ({ error }) => {
      throw error
    },
  })
  let streamed = ''
  for await (const piece of result.textStream) streamed += piece
  return {
    streamed,
    text: await result.text,
    steps: await result.steps,
    reasoningText: await result.reasoningText,
    totalUsage: await result.totalUsage,
    output: await result.output,
  }
}

const loop = await ask({
  model: openai(MODEL),
  prompt: 'Compare the weather of three cities',
  tools: { getWeather },
  stopWhen: stopAfter(5),
  providerOptions,
})
const place = await ask({
  model: openai(MODEL),
  prompt: 'Name a place',
  output: Output.object({ schema: z.object({ place: z.string(), people: z.number() }) }),
  providerOptions,
})
console.log(
  JSON.stringify({
    text: loop.text,
    streamed: loop.streamed ?? loop.text,
    cities,
    stepCount: loop.steps.length,
    reasoning: loop.steps[0].reasoningText,
    usage: loop.totalUsage,
    place: place.output,
  }),
)
