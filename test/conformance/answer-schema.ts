import { z } from 'zod'
import published from './openai-answer-schema.json' with { type: 'json' }

/** One of OpenAI's published schemas of answers, ready to check with. */
export function answerSchemaOf(name: keyof typeof published.$defs): z.ZodType {
  const { $schema } = published
  const $defs = { ...published.$defs, ChatCompletionMessageToolCallChunk: callChunk }
  // The JSON file's type is narrower than that of a schema; zod checks it while it reads it.
  return z.fromJSONSchema({ $schema, $defs, $ref: `#/$defs/${name}` } as Parameters<
    typeof z.fromJSONSchema
  >[0])
}

const { properties, ...chunk } = published.$defs.ChatCompletionMessageToolCallChunk
/** OpenAI streams calls of custom tools as its SDKs read them; its schema knows them in whole answers only: openai-openapi#576. */
const callChunk = {
  ...chunk,
  properties: {
    ...properties,
    type: { type: 'string', enum: ['function', 'custom'] },
    custom: { type: 'object', properties: { name: { type: 'string' }, input: { type: 'string' } } },
  },
}
