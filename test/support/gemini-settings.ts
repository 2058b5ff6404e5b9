import {
  fieldsOf,
  firstFault,
  type GeminiFault,
  invalid,
  invalidArgument,
  invalidField,
  listOf,
} from './gemini-fault.ts'
import type { GeminiModel } from './gemini-models.ts'
import type { Fields } from './gemini-proto.ts'

/** The first problem of the tools of a request and how it may use them. */
export function findToolsFault(request: Fields, path: string): GeminiFault | undefined {
  const tools = listOf(request.tools)
  const declarations = tools.flatMap((tool) => listOf(tool.functionDeclarations))
  return firstFault(
    ...tools.map((tool, at) => () => findToolFault(tool, `${path}.tools[${at}]`)),
    () => findDuplicate(declarations),
    () => findChoiceFault(fieldsOf(request.toolConfig), declarations),
  )
}

function findToolFault(tool: Fields, path: string): GeminiFault | undefined {
  const declarations = listOf(tool.functionDeclarations)
  const isEmpty =
    declarations.length === 0 && Object.keys(tool).every((name) => name === 'functionDeclarations')
  if (isEmpty)
    return invalidField(`${path}.tool_type`, "required one_of 'tool_type' must have one initialized field")
  return declarations
    .map((declaration, at) => findDeclarationFault(declaration, `${path}.function_declarations[${at}]`))
    .find(Boolean)
}

const functionName = /^[A-Za-z_][\w.:-]{0,63}$/

function findDeclarationFault(declaration: Fields, path: string): GeminiFault | undefined {
  const { name, parameters, parametersJsonSchema } = declaration
  // https://github.com/maximhq/bifrost/issues/1979
  if (!functionName.test(String(name ?? '')))
    return invalidField(
      `${path}.name`,
      'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.',
    )
  if (parameters === undefined) return undefined
  // "This field is mutually exclusive with `parameters`": the SDK's types.
  return parametersJsonSchema === undefined
    ? findSchemaFault(fieldsOf(parameters), `${path}.parameters`)
    : invalidArgument
}

/** The rules of the OpenAPI subset, each of whose words is in reports: https://github.com/cline/cline/issues/7339. */
function findSchemaFault(schema: Fields, path: string): GeminiFault | undefined {
  const { type, properties, required, items, anyOf, enum: values } = schema
  const isObject = type === 'OBJECT'
  const known = Object.entries(fieldsOf(properties))
  const emptyValue = Array.isArray(values) ? values.indexOf('') : -1
  const names = new Set<unknown>(known.map(([name]) => name))
  const undefinedAt = Array.isArray(required) ? required.findIndex((name) => !names.has(name)) : -1
  if (!isObject && properties !== undefined)
    return invalidField(`${path}.properties`, 'only allowed for OBJECT type')
  if (!isObject && required !== undefined)
    return invalidField(`${path}.required`, 'only allowed for OBJECT type')
  if (isObject && known.length === 0)
    return invalidField(`${path}.properties`, 'should be non-empty for OBJECT type')
  if (undefinedAt >= 0) return invalidField(`${path}.required[${undefinedAt}]`, 'property is not defined')
  if (type === 'ARRAY' && items === undefined) return invalidField(`${path}.items`, 'missing field.')
  if (emptyValue >= 0) return invalidField(`${path}.enum[${emptyValue}]`, 'cannot be empty')
  return firstFault(
    ...known.map(
      ([name, child]) =>
        () =>
          findSchemaFault(fieldsOf(child), `${path}.properties[${name}]`),
    ),
    () => (items === undefined ? undefined : findSchemaFault(fieldsOf(items), `${path}.items`)),
    ...listOf(anyOf).map((child, at) => () => findSchemaFault(child, `${path}.any_of[${at}]`)),
  )
}

function findDuplicate(declarations: readonly Fields[]): GeminiFault | undefined {
  const names = declarations.map(({ name }) => name)
  const duplicate = names.find((name, at) => names.indexOf(name) !== at)
  return duplicate === undefined ? undefined : invalid(`Duplicate function declaration found: ${duplicate}`)
}

function findChoiceFault(toolConfig: Fields, declarations: readonly Fields[]): GeminiFault | undefined {
  if (toolConfig.functionCallingConfig === undefined) return undefined
  const { mode = 'AUTO', allowedFunctionNames } = fieldsOf(toolConfig.functionCallingConfig)
  // https://github.com/pydantic/pydantic-ai has a test of these words; Vertex accepts such a request.
  if (declarations.length === 0)
    return invalid('Function calling config is set without function_declarations.')
  const allowed: readonly unknown[] = Array.isArray(allowedFunctionNames) ? allowedFunctionNames : []
  const isRestricted = mode === 'ANY' || mode === 'VALIDATED'
  const isDeclared = (name: unknown) => declarations.some((declaration) => declaration.name === name)
  // "Only set when the Mode is ANY", "should match FunctionDeclaration.name": the SDK's types.
  return allowed.length > 0 && !(isRestricted && allowed.every(isDeclared)) ? invalidArgument : undefined
}

/** The first problem of `generationConfig`. */
export function findConfigFault(request: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const config = fieldsOf(request.generationConfig)
  const at = `${path}.generation_config`
  return firstFault(
    () => findSamplingFault(config, at, model),
    () => findFormatFault(config, at, model, request),
    () => findThinkingFault(fieldsOf(config.thinkingConfig), `${at}.thinking_config`, model),
  )
}

function findSamplingFault(config: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const { temperature = 1, topP = 1, topK = 1, candidateCount = 1 } = config
  const { stopSequences, maxOutputTokens = 1 } = config
  if (!isWithin(temperature, 0, 2))
    return invalidField(`${path}.temperature`, 'temperature must be in the range [0.0, 2.0].')
  // A `topK` of zero is accepted, and means the default.
  if (!isWithin(topP, 0, 1) || Number(topK) < 0 || !isWithin(candidateCount, 1, 8)) return invalidArgument
  if (Number(candidateCount) > model.candidatesMax)
    return invalid('Multiple candidates is not enabled for this model')
  if (Array.isArray(stopSequences) && stopSequences.length > 5)
    return invalidField(`${path}.stop_sequences`, 'the number of stop_sequences must not exceed 5')
  if (Number(maxOutputTokens) < 1)
    return invalidField(`${path}.max_output_tokens`, 'max_output_tokens must be positive.')
  // https://github.com/google-gemini/gemini-cli/issues/7578
  return Number(maxOutputTokens) > model.outputTokensMax
    ? invalid(
        `Unable to submit request because it has a maxOutputTokens value of ${maxOutputTokens} but the supported range is from 1 (inclusive) to ${model.outputTokensMax + 1} (exclusive). Update the value and try again.`,
      )
    : undefined
}

const responseTypes = ['text/plain', 'application/json', 'application/xml', 'application/yaml', 'text/x.enum']

function findFormatFault(
  config: Fields,
  path: string,
  model: GeminiModel,
  request: Fields,
): GeminiFault | undefined {
  const { responseMimeType = 'text/plain', responseSchema, responseJsonSchema } = config
  const type = String(responseMimeType)
  const isJson = type === 'application/json'
  const hasFunctions = listOf(request.tools).some((tool) => listOf(tool.functionDeclarations).length > 0)
  if (!responseTypes.includes(type))
    return invalidField(
      `${path}.response_mime_type`,
      'allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.',
    )
  if (responseSchema !== undefined && responseJsonSchema !== undefined) return invalidArgument
  if (responseSchema !== undefined && !isJson && type !== 'text/x.enum')
    return invalid(`Response_schema with a response mime type '${type}' is unsupported`)
  if (responseJsonSchema !== undefined && !isJson) return invalidArgument
  if (isJson && hasFunctions && !model.acceptsJsonWithTools)
    return invalid(`Function calling with a response mime type: '${type}' is unsupported`)
  return responseSchema === undefined
    ? undefined
    : findSchemaFault(fieldsOf(responseSchema), `${path}.response_schema`)
}

/** These words are in reports of each: https://github.com/vercel/ai/issues/8027, RooCodeInc/Roo-Code/issues/4399. */
function findThinkingFault(config: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const { thinkingBudget, thinkingLevel } = config
  if (thinkingBudget !== undefined && thinkingLevel !== undefined)
    return invalid('You can only set only one of thinking budget and thinking level.')
  if (thinkingLevel !== undefined && model.thinkingLevels.length === 0)
    return invalid('Thinking level is not supported for this model.')
  if (thinkingLevel !== undefined && !model.thinkingLevels.includes(String(thinkingLevel)))
    return invalid(
      `Thinking level ${thinkingLevel} is not supported for this model. Please retry with other thinking level.`,
    )
  return thinkingBudget === undefined ? undefined : findBudgetFault(Number(thinkingBudget), path, model)
}

function findBudgetFault(budget: number, path: string, model: GeminiModel): GeminiFault | undefined {
  const allowed = model.thinkingBudget
  if (allowed === undefined) return invalidArgument
  if (!isWithin(budget, -1, 65_535))
    return invalidField(`${path}.thinking_budget`, 'thinking_budget must be in the range [-1, 65535]')
  // -1: the model chooses.
  if (budget === -1 || isWithin(budget, allowed.min, allowed.max)) return undefined
  return budget === 0
    ? invalid('Budget 0 is invalid. This model only works in thinking mode.')
    : invalid(
        `The thinking budget ${budget} is invalid. Please choose a value between ${allowed.min} and ${allowed.max}.`,
      )
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number(value) >= min && Number(value) <= max
}
