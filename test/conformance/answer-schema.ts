import { z } from 'zod'
import published from './openai-answer-schema.json' with { type: 'json' }

/** One of OpenAI's published schemas of answers, ready to check with. */
export function answerSchemaOf(name: keyof typeof published.$defs): z.ZodType {
  const { $schema, $defs } = published
  // The JSON file's type is narrower than that of a schema; zod checks it while it reads it.
  return z.fromJSONSchema({ $schema, $defs, $ref: `#/$defs/${name}` } as Parameters<
    typeof z.fromJSONSchema
  >[0])
}
