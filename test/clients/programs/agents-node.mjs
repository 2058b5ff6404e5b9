// One agent hands over to another, which calls a function. WAY: whole or streamed.
import { Agent, run, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'

const { WAY, MODEL: model } = process.env
setTracingDisabled(true)

const cities = []
const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    cities.push(city)
    return 'Sunny'
  },
})
const expert = new Agent({
  name: 'expert',
  instructions: 'You know the weather.',
  tools: [getWeather],
  model,
})
const reception = Agent.create({ name: 'reception', instructions: 'Hand over.', handoffs: [expert], model })

let result
let streamed = ''
if (WAY === 'whole') result = await run(reception, 'What is the weather in Kazan?')
else {
  result = await run(reception, 'What is the weather in Kazan?', { stream: true })
  for await (const piece of result.toTextStream()) streamed += piece
  await result.completed
}
const next = await run(result.lastAgent, [...result.history, { role: 'user', content: 'And tomorrow?' }])
console.log(
  JSON.stringify({
    text: result.finalOutput,
    streamed: WAY === 'whole' ? result.finalOutput : streamed,
    agent: result.lastAgent.name,
    cities,
    next: next.finalOutput,
  }),
)
