/** An error for which OpenAI would return 400. */
export type RequestFault = { readonly message: string; readonly param: string | null }

type Fields = { readonly [field: string]: unknown }
type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isFilled: Check = (value) => typeof value === 'string' && value !== ''
const isFlag: Check = (value) => typeof value === 'boolean'
const isObject: Check = (value) => fieldsOf(value) !== undefined
const isNumber =
  (min: number, max: number): Check =>
  (value) =>
    typeof value === 'number' && value >= min && value <= max
const isWhole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value)
const isListOf =
  (check: Check, min = 0, max = Number.POSITIVE_INFINITY): Check =>
  (value) =>
    Array.isArray(value) && value.length >= min && value.length <= max && value.every(check)
const either =
  (...checks: Check[]): Check =>
  (value) =>
    checks.some((check) => check(value))
const has =
  (required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check =>
  (value) => {
    const fields = fieldsOf(value)
    if (fields === undefined) return false
    const rest = Object.entries(optional).every(([name, check]) => {
      const given = fields[name]
      return given === undefined || given === null || check(given)
    })
    return rest && Object.entries(required).every(([name, check]) => check(fields[name]))
  }

const any = Number.MAX_SAFE_INTEGER
const functionTool = has({
  type: isOneOf('function'),
  function: has({ name: isFilled }, { parameters: isObject }),
})

/** Every parameter of a chat request and its valid values, from OpenAI's published schema. */
const parameters: Readonly<Record<string, Check>> = {
  model: isFilled,
  messages: isListOf(isObject, 1),
  audio: isObject,
  frequency_penalty: isNumber(-2, 2),
  function_call: either(isOneOf('none', 'auto'), has({ name: isFilled })),
  functions: isListOf(has({ name: isFilled }), 1, 128),
  logit_bias: isObject,
  logprobs: isFlag,
  max_completion_tokens: isWhole(1, any),
  max_tokens: isWhole(1, any),
  metadata: isObject,
  modalities: isListOf(isOneOf('text', 'audio')),
  moderation: isObject,
  n: isWhole(1, 128),
  parallel_tool_calls: isFlag,
  prediction: isObject,
  presence_penalty: isNumber(-2, 2),
  prompt_cache_key: isText,
  prompt_cache_options: isObject,
  prompt_cache_retention: isOneOf('in_memory', '24h'),
  reasoning_effort: isOneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  response_format: has({ type: isOneOf('text', 'json_object', 'json_schema') }),
  safety_identifier: isText,
  seed: isWhole(-any, any),
  service_tier: isOneOf('auto', 'default', 'flex', 'scale', 'priority', 'fast'),
  stop: either(isText, isListOf(isText, 1, 4)),
  store: isFlag,
  stream: isFlag,
  stream_options: has({}, { include_usage: isFlag, include_obfuscation: isFlag }),
  temperature: isNumber(0, 2),
  tool_choice: either(isOneOf('none', 'auto', 'required'), has({ type: isFilled })),
  tools: isListOf(either(functionTool, has({ type: isOneOf('custom'), custom: has({ name: isFilled }) }))),
  top_logprobs: isWhole(0, 20),
  top_p: isNumber(0, 1),
  user: isText,
  verbosity: isOneOf('low', 'medium', 'high'),
  web_search_options: isObject,
}

const textPart = has({ type: isOneOf('text'), text: isText })
const userPart = either(
  textPart,
  has({
    type: isOneOf('image_url'),
    image_url: has({ url: isText }, { detail: isOneOf('auto', 'low', 'high') }),
  }),
  has({ type: isOneOf('input_audio'), input_audio: has({ data: isText, format: isOneOf('wav', 'mp3') }) }),
  has({ type: isOneOf('file'), file: isObject }),
)
const texts = either(isText, isListOf(textPart, 1))
const call = either(
  has({ id: isText, type: isOneOf('function'), function: has({ name: isText, arguments: isText }) }),
  has({ id: isText, type: isOneOf('custom'), custom: has({ name: isText, input: isText }) }),
)

const messagesByRole: Readonly<Record<string, Check>> = {
  system: has({ content: texts }),
  developer: has({ content: texts }),
  user: has({ content: either(isText, isListOf(userPart, 1)) }),
  assistant: has(
    {},
    {
      content: either(isText, isListOf(has({ type: isOneOf('text', 'refusal') }), 1)),
      tool_calls: isListOf(call, 1),
    },
  ),
  tool: has({ content: texts, tool_call_id: isText }),
  function: has({ name: isText }),
}

/**
 * The first error for which OpenAI would reject a chat request, or `undefined`. As strict as OpenAI's published
 * schema.
 */
export function findRequestFault(body: unknown): RequestFault | undefined {
  const fields = fieldsOf(body) ?? {}
  const fault = findParameterFault(fieldsOf(body), parameters, ['model', 'messages'])
  if (fault !== undefined) return fault
  if (fields.stream_options && fields.stream !== true)
    return { message: "'stream_options' is only allowed when 'stream' is enabled.", param: 'stream_options' }
  return findMessageFault(fields.messages)
}

const embeddingParameters: Readonly<Record<string, Check>> = {
  model: isFilled,
  input: either(
    isFilled,
    isListOf(isFilled, 1, 2048),
    isListOf(isWhole(0, any), 1, 2048),
    isListOf(isListOf(isWhole(0, any), 1, 2048), 1, 2048),
  ),
  dimensions: isWhole(1, any),
  encoding_format: isOneOf('float', 'base64'),
  user: isText,
}

/** The first error for which OpenAI would reject an embeddings request, or `undefined`. */
export function findEmbeddingFault(body: unknown): RequestFault | undefined {
  return findParameterFault(fieldsOf(body), embeddingParameters, ['model', 'input'])
}

function findParameterFault(
  fields: Fields | undefined,
  known: Readonly<Record<string, Check>>,
  required: readonly string[],
): RequestFault | undefined {
  if (fields === undefined)
    return { message: 'We could not parse the JSON body of your request.', param: null }
  for (const name of required)
    if (fields[name] === undefined || fields[name] === null)
      return { message: `Missing required parameter: '${name}'.`, param: name }
  for (const [name, value] of Object.entries(fields)) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined
    if (check === undefined)
      return { message: `Unrecognized request argument supplied: ${name}`, param: null }
    if (value !== null && !check(value)) return { message: `Invalid value for '${name}'.`, param: name }
  }
  return undefined
}

function findMessageFault(messages: unknown): RequestFault | undefined {
  if (!Array.isArray(messages)) return undefined
  for (const [position, message] of messages.entries()) {
    const role = String(fieldsOf(message)?.role)
    const check = Object.hasOwn(messagesByRole, role) ? messagesByRole[role] : undefined
    const param = `messages[${position}]`
    if (check === undefined) return { message: `Invalid value: '${role}'.`, param: `${param}.role` }
    if (!check(message)) return { message: `Invalid message of role '${role}'.`, param }
  }
  return undefined
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}
