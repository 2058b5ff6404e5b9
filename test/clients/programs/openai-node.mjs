// `responses.parse`, the helpers of streams, and a loop of functions.
import OpenAI from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const { MODEL: model } = process.env
const client = new OpenAI()
const place = z.object({ place: z.string(), people: z.number() })

const parsed = await client.responses.parse({
  model,
  input: 'Name a place',
  text: { format: zodTextFormat(place, 'place') },
})

const deltas = []
const stream = client.responses
  .stream({ model, input: 'Name a place', text: { format: zodTextFormat(place, 'place') } })
  .on('response.output_text.delta', ({ delta }) => deltas.push(delta))
const last = await stream.finalResponse()

const getWeather = zodResponsesFunction({ name: 'get_weather', parameters: z.object({ city: z.string() }) })
const called = await client.responses
  .stream({ model, input: 'What is the weather?', tools: [getWeather] })
  .finalResponse()
const [call] = called.output.filter(({ type }) => type === 'function_call')
const answer = await client.responses.create({
  model,
  input: [
    { role: 'user', content: 'What is the weather?' },
    ...called.output,
    { type: 'function_call_output', call_id: call.call_id, output: '{"degrees":1}' },
  ],
  tools: [getWeather],
})
console.log(
  JSON.stringify({
    parsed: parsed.output_parsed,
    streamed: deltas.join(''),
    streamParsed: last.output_parsed,
    called: call.parsed_arguments,
    text: answer.output_text,
    usage: answer.usage,
  }),
)
