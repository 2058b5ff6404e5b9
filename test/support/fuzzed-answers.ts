import { createHash } from 'node:crypto'
import { message, streamedMessage, textBlock } from './anthropic.ts'
import { messageItem, ownResponse, usageOf } from './openai-responses.ts'
import { goodStream, type ReceivedRequest, type Script, streamHeaders } from './upstream.ts'

/** Hears the tokens that a provider counts of each answer. */
export type Report = (promptTokens: number, completionTokens: number) => void

/** Numbers that depend only on the request, so that a counterexample is one again. */
function drawsOf({ bodyText }: ReceivedRequest): (max: number) => number {
  const digest = createHash('sha256').update(bodyText).digest()
  let at = 0
  return (max) => digest.readUInt16LE((at++ * 2) % 32) % (max + 1)
}

const saidAtRandom = ['Hi', '', ' and so on', 'ещё', '👩‍🚀', '\u0000', '"}', 'data: [DONE]\n\n']

const pick = (draw: (max: number) => number) => saidAtRandom[draw(saidAtRandom.length - 1)] ?? ''

/** What every request may have as its prompt, and any that is translated. */
const promptMax = 256

/** A response of chat completions. */
export function chatAnswer(asked: ReceivedRequest, report: Report): Script {
  const { body } = asked
  const draw = drawsOf(asked)
  const choices = Number(body.n ?? 1)
  const limit = Math.min(Number(body.max_tokens ?? 400), Number(body.max_completion_tokens ?? 400), 400)
  // Zero would be no count, of a prompt or of a response with content.
  const prompt = 1 + draw(promptMax - 1)
  const completion = 1 + draw(limit * choices - 1)
  report(prompt, completion)
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: draw(prompt) },
    completion_tokens_details: { reasoning_tokens: draw(completion) },
  }
  const contents = Array.from({ length: choices }, () => pick(draw))
  if (body.stream === true) {
    const { role, delta, usage: count, done } = goodStream
    const said = contents.map((content, index) => delta({ content }, { index }))
    const ends = contents.map((_, index) => delta({}, { index, finish_reason: 'stop' }))
    return { headers: streamHeaders, steps: [role, ...said, ...ends, count(usage), done] }
  }
  const whole = contents.map((content, index) => ({
    index,
    message: { role: 'assistant', content },
    finish_reason: 'stop',
  }))
  const answer = { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: whole, usage }
  return { steps: [{ send: JSON.stringify(answer) }] }
}

/** A response of embeddings. */
export function embeddingAnswer(asked: ReceivedRequest, report: Report): Script {
  const { input, encoding_format } = asked.body
  const items = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  const embedding = encoding_format === 'base64' ? 'AACAPwAAAEA=' : [1, 2]
  const textBytes = Buffer.byteLength(items.flat().join('')) // as JSON it may have more
  const prompt = 1 + drawsOf(asked)(textBytes) // an embedding of nothing is not believed
  report(prompt, 0)
  const data = items.map((_, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: prompt, total_tokens: prompt }
  return { steps: [{ send: JSON.stringify({ object: 'list', data, model: 'm', usage }) }] }
}

/** A response of OpenAI's Responses API. */
export function responsesAnswer(asked: ReceivedRequest, report: Report): Script {
  const { body } = asked
  const draw = drawsOf(asked)
  const prompt = 1 + draw(promptMax - 1)
  // A lower limit is raised to 16, the least of this API, and a bill is at most its hold.
  const limit = Number(body.max_output_tokens ?? 400)
  const completion = limit === 16 ? 1 : 1 + draw(Math.min(limit, 400) - 1)
  report(prompt, completion)
  const counts = usageOf({ input: prompt, cached: draw(prompt), reasoning: draw(completion) })
  const usage = { ...counts, output_tokens: completion, total_tokens: prompt + completion }
  return ownResponse(body, [messageItem(pick(draw))], { usage })
}

/** A message of Anthropic's. */
export function messagesAnswer(asked: ReceivedRequest, report: Report): Script {
  const { body } = asked
  const draw = drawsOf(asked)
  const prompt = 1 + draw(promptMax - 1)
  const completion = 1 + draw(Math.min(Number(body.max_tokens), 400) - 1)
  report(prompt, completion)
  const cached = draw(prompt)
  const usage = {
    input_tokens: prompt - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: completion,
    output_tokens_details: { thinking_tokens: draw(completion) },
  }
  const blocks = [textBlock(pick(draw))]
  return body.stream === true ? streamedMessage(blocks, { usage }) : message(blocks, { usage })
}
