import { geminiEmbedding } from './gemini-models.ts'
import { field, general, noList, typed, unknown } from './gemini-rejections.ts'
import type { Rule } from './gemini-requests.ts'

const badName =
  'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.'
const badType =
  'allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.'
const limited =
  'Unable to submit request because it has a maxOutputTokens value of 65537 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.'
const userText = { role: 'user', parts: [{ text: 'Hi' }] }
const parameters = 'tools.0.functionDeclarations.1.parameters'
const declared = 'tools[0].function_declarations[1]'

/** What the server rejects in tools, settings, counts and embeddings. */
export const settingRules: readonly Rule[] = [
  [
    'a name with a space',
    'tools',
    ['tools.0.functionDeclarations.1.name', 'get weather'],
    field(`${declared}.name`, badName),
  ],
  [
    'a name of 65 characters',
    'tools',
    ['tools.0.functionDeclarations.1.name', 'a'.repeat(65)],
    field(`${declared}.name`, badName),
  ],
  [
    'a function without a name',
    'tools',
    ['tools.0.functionDeclarations.1.name', undefined],
    field(`${declared}.name`, badName),
  ],
  [
    'two functions of one name',
    'tools',
    ['tools.0.functionDeclarations.1.name', 'get_weather'],
    'Duplicate function declaration found: get_weather',
  ],
  [
    'a tool without functions',
    'calls',
    ['tools.0.functionDeclarations', []],
    field('tools[0].tool_type', "required one_of 'tool_type' must have one initialized field"),
  ],
  ['parameters of both kinds', 'tools', ['tools.0.functionDeclarations.1.parametersJsonSchema', {}], general],
  [
    'additionalProperties',
    'tools',
    [`${parameters}.additionalProperties`, false],
    unknown('additionalProperties', `${declared}.parameters`),
  ],
  ['$schema', 'tools', [`${parameters}.$schema`, 'x'], unknown('$schema', `${declared}.parameters`)],
  [
    'const in a property',
    'tools',
    [`${parameters}.properties.unit.const`, 'C'],
    unknown('const', `${declared}.parameters.properties[0].value`),
  ],
  [
    'a list of types',
    'tools',
    [`${parameters}.type`, ['object']],
    `Invalid JSON payload received. Unknown name "type" at '${declared}.parameters': ${noList}`,
  ],
  ['an unknown type', 'tools', [`${parameters}.type`, 'SOME'], typed(`${declared}.parameters.type`, 'Type')],
  [
    'an object without properties',
    'tools',
    [`${parameters}.properties`, {}],
    field(`${declared}.parameters.properties`, 'should be non-empty for OBJECT type'),
  ],
  [
    'a required property that is undefined',
    'tools',
    [`${parameters}.required`, ['city']],
    field(`${declared}.parameters.required[0]`, 'property is not defined'),
  ],
  [
    'properties of a text',
    'tools',
    [`${parameters}.type`, 'STRING'],
    field(`${declared}.parameters.properties`, 'only allowed for OBJECT type'),
  ],
  [
    'an empty value of an enum',
    'tools',
    [`${parameters}.properties.unit.enum.1`, ''],
    field(`${declared}.parameters.properties[unit].enum[1]`, 'cannot be empty'),
  ],
  [
    'an array without items',
    'tools',
    [`${parameters}.properties.unit`, { type: 'ARRAY' }],
    field(`${declared}.parameters.properties[unit].items`, 'missing field.'),
  ],
  [
    'an unknown mode',
    'tools',
    ['toolConfig.functionCallingConfig.mode', 'SOME'],
    typed('tool_config.function_calling_config.mode', 'FunctionCallingConfig.Mode'),
  ],
  ['allowed names without ANY', 'tools', ['toolConfig.functionCallingConfig.mode', 'AUTO'], general],
  [
    'an allowed name without a function',
    'tools',
    ['toolConfig.functionCallingConfig.allowedFunctionNames', ['other']],
    general,
  ],
  [
    'a mode without functions',
    'tools',
    ['tools', undefined],
    'Function calling config is set without function_declarations.',
  ],
  [
    'JSON next to functions',
    'tools',
    ['generationConfig', { responseMimeType: 'application/json' }],
    "Function calling with a response mime type: 'application/json' is unsupported",
  ],
  [
    'a temperature of 2.1',
    'full',
    ['generationConfig.temperature', 2.1],
    field('generation_config.temperature', 'temperature must be in the range [0.0, 2.0].'),
  ],
  ['topP of 1.1', 'full', ['generationConfig.topP', 1.1], general],
  ['topK of -1', 'full', ['generationConfig.topK', -1], general],
  ['nine candidates', 'full', ['generationConfig.candidateCount', 9], general],
  [
    'two candidates of a Gemini 3 model',
    'thinking',
    ['generationConfig.candidateCount', 2],
    'Multiple candidates is not enabled for this model',
  ],
  [
    'no output',
    'full',
    ['generationConfig.maxOutputTokens', 0],
    field('generation_config.max_output_tokens', 'max_output_tokens must be positive.'),
  ],
  ['more output than the model has', 'full', ['generationConfig.maxOutputTokens', 65_537], limited],
  [
    'six stop sequences',
    'full',
    ['generationConfig.stopSequences.5', '6'],
    field('generation_config.stop_sequences', 'the number of stop_sequences must not exceed 5'),
  ],
  [
    'a seed of more than 32 bits',
    'full',
    ['generationConfig.seed', 2 ** 31],
    "Invalid value at 'generation_config.seed' (TYPE_INT32), 2147483648",
  ],
  [
    'an unknown response type',
    'schema',
    ['generationConfig.responseMimeType', 'image/png'],
    field('generation_config.response_mime_type', badType),
  ],
  [
    'a schema of text',
    'schema',
    ['generationConfig.responseMimeType', undefined],
    "Response_schema with a response mime type 'text/plain' is unsupported",
  ],
  ['a JSON schema of text', 'jsonSchema', ['generationConfig.responseMimeType', undefined], general],
  ['schemas of both kinds', 'schema', ['generationConfig.responseJsonSchema', {}], general],
  [
    'an unknown keyword of a schema',
    'schema',
    ['generationConfig.responseSchema.const', 1],
    unknown('const', 'generation_config.response_schema'),
  ],
  [
    'a budget next to a level',
    'thinking',
    ['generationConfig.thinkingConfig.thinkingBudget', 200],
    'You can only set only one of thinking budget and thinking level.',
  ],
  [
    'a level for a model of budgets',
    'unthinking',
    ['generationConfig.thinkingConfig', { thinkingLevel: 'LOW' }],
    'Thinking level is not supported for this model.',
  ],
  [
    'a level that the model lacks',
    'thinking',
    ['generationConfig.thinkingConfig.thinkingLevel', 'MINIMAL'],
    'Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.',
  ],
  [
    'an unknown level',
    'thinking',
    ['generationConfig.thinkingConfig.thinkingLevel', 'SOME'],
    typed('generation_config.thinking_config.thinking_level', 'ThinkingConfig.ThinkingLevel'),
  ],
  [
    'a budget above the range',
    'full',
    ['generationConfig.thinkingConfig.thinkingBudget', 24_577],
    'The thinking budget 24577 is invalid. Please choose a value between 0 and 24576.',
  ],
  [
    'a budget below the range',
    'pro',
    ['generationConfig.thinkingConfig.thinkingBudget', 127],
    'The thinking budget 127 is invalid. Please choose a value between 128 and 32768.',
  ],
  [
    'a budget outside every range',
    'pro',
    ['generationConfig.thinkingConfig.thinkingBudget', -2],
    field(
      'generation_config.thinking_config.thinking_budget',
      'thinking_budget must be in the range [-1, 65535]',
    ),
  ],
  [
    'no thinking of a model that must think',
    'pro',
    ['generationConfig.thinkingConfig.thinkingBudget', 0],
    'Budget 0 is invalid. This model only works in thinking mode.',
  ],
  [
    'an unknown harm category',
    'text',
    ['safetySettings', [{ category: 'SOME' }]],
    typed('safety_settings[0].category', 'HarmCategory'),
  ],
  ['a count of two kinds', 'tokens', ['generateContentRequest', { contents: [userText] }], general],
  ['no requests for vectors', 'vectors', ['requests', []], general],
  [
    '101 requests for vectors',
    'vectors',
    ['requests', Array(101).fill({ model: 'models/gemini-embedding-001', content: userText })],
    '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n',
  ],
  [
    'a model without its prefix',
    'vectors',
    ['requests.0.model', geminiEmbedding.id],
    '* BatchEmbedContentsRequest.requests[0].model: unexpected model name format\n',
  ],
  ['a vector of another model', 'vectors', ['requests.1.model', 'models/other'], general],
  ['a vector of nothing', 'vectors', ['requests.0.content', undefined], general],
  [
    'a vector of an empty text',
    'vectors',
    ['requests.0.content.parts.0.text', ''],
    'EmbedContentRequest.content contains an empty Part.',
  ],
  ['a vector of too many dimensions', 'vectors', ['requests.0.outputDimensionality', 3073], general],
  ['an unknown task', 'vectors', ['requests.0.taskType', 'SOME'], typed('requests[0].task_type', 'TaskType')],
  [
    'an unknown field of a vector',
    'vectors',
    ['requests.0.dimensions', 8],
    unknown('dimensions', 'requests[0]'),
  ],
]
