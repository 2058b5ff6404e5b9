import OpenAI from 'openai'

// A customer's program: streams one answer with the official SDK, and logs it. `BASE_URL`, `API_KEY`, `MODEL`.
const { BASE_URL, API_KEY, MODEL = '' } = process.env
const client = new OpenAI({ baseURL: BASE_URL, apiKey: API_KEY })
const stream = await client.chat.completions.create({
  model: MODEL,
  messages: [{ role: 'user', content: 'one two three' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
