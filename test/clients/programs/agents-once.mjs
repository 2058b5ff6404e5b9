// One question of one agent, and the error that a user sees.
import { Agent, run, setTracingDisabled } from '@openai/agents'

const { WAY, MODEL: model, PROMPT = 'Hello' } = process.env
setTracingDisabled(true)
const agent = new Agent({ name: 'helper', instructions: 'Help.', model })
let shown = ''
try {
  const result = await run(agent, PROMPT.repeat(Number(process.env.REPEAT ?? '1')), {
    stream: WAY === 'streamed',
  })
  if (WAY === 'streamed') await result.completed
} catch (error) {
  shown = error.message
}
console.log(JSON.stringify({ shown }))
