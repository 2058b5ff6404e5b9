import { createHash } from 'node:crypto'
import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import type { DroppedField } from '../dropped-field.ts'
import type { AskedTool } from '../responses-asked.ts'
import type { Check, Fault } from './field-checks.ts'
import { checkCustomTool, checkFunctionTool, checkNamespace, checkSearchTool } from './responses-checks.ts'

type Listed = { readonly tool: AskedTool; readonly given: JsonObject }

/** Longest name of a function, by OpenAI's API. */
const nameLengthMax = 64
const hashLength = 8
/** Bytes of the text around a grammar and of the schema of its one field, and those of a search without its own. */
const wrapperBytes = { function: 0, custom: 256, tool_search: 512 } as const

/**
 * The tools of a request, from wherever in it they come, as functions with different names.
 *
 * Functions outside of namespaces keep their names. A tool that comes twice is one tool.
 */
export class AskedTools {
  readonly #listed: Listed[] = []
  readonly #keys = new Set<string>()
  readonly #sentNames = new Map<string, string>()
  readonly #tools = new Map<string, AskedTool>()
  readonly #dropped: DroppedField[]

  constructor(dropped: DroppedField[]) {
    this.#dropped = dropped
  }

  /** Bytes that the functions have beyond the tools of the request, at most. */
  get addedBytes(): number {
    return this.#listed.reduce(
      (sum, { tool }) => sum + wrapperBytes[tool.kind] + this.sentName(tool).length,
      0,
    )
  }

  get isEmpty(): boolean {
    return this.#listed.length === 0
  }

  /** Adds a list of tools. Those that a provider would run are dropped. */
  add(tools: readonly unknown[], path: string, namespace?: string): Fault | undefined {
    for (const [at, given] of tools.entries()) {
      const fault = this.#addOne(fieldsOf(given) ?? {}, `${path}[${at}]`, namespace)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  #addOne(given: JsonObject, path: string, namespace: string | undefined): Fault | undefined {
    switch (given.type) {
      case 'function':
        return this.#list('function', checkFunctionTool, given, path, namespace)
      case 'custom':
        return this.#list('custom', checkCustomTool, given, path, namespace)
      case 'namespace': {
        if (namespace !== undefined)
          return {
            path: `${path}.type`,
            problem: 'must be function or custom: a namespace contains no other namespace',
          }
        const fault = faultAt(path, checkNamespace(given))
        return fault ?? this.add(itemsOf(given.tools), `${path}.tools`, String(given.name))
      }
      case 'tool_search':
        if (given.execution === 'client')
          return this.#list(
            'tool_search',
            checkSearchTool,
            { ...given, name: 'tool_search' },
            path,
            undefined,
          )
    }
    const kind = typeof given.type === 'string' ? given.type : 'unknown'
    this.#dropped.push({ name: `tools.${kind}`, path })
    return undefined
  }

  #list(
    kind: AskedTool['kind'],
    check: Check,
    given: JsonObject,
    path: string,
    namespace: string | undefined,
  ): Fault | undefined {
    const fault = faultAt(path, check(given))
    if (fault !== undefined) return fault
    const tool = { kind, name: String(given.name), ...(namespace === undefined ? {} : { namespace }) }
    const key = keyOf(tool)
    if (!this.#keys.has(key)) this.#listed.push({ tool, given })
    this.#keys.add(key)
    return undefined
  }

  /** Gives every tool its name: first those that keep theirs. To be called once, when all are there. */
  assignNames(): void {
    for (const isKept of [true, false])
      for (const { tool } of this.#listed) if ((tool.namespace === undefined) === isKept) this.sentName(tool)
  }

  /** The function's name of a tool; also of one that is not there, but was called. */
  sentName(tool: AskedTool): string {
    const key = keyOf(tool)
    const known = this.#sentNames.get(key)
    if (known !== undefined) return known
    let name = flatName(tool)
    for (let round = 0; this.#tools.has(name); round += 1) name = hashedName(tool, round)
    this.#sentNames.set(key, name)
    this.#tools.set(name, tool)
    return name
  }

  /** The tool of a function that a model called. Models call functions that do not exist. */
  toolOf(sentName: string): AskedTool {
    return this.#tools.get(sentName) ?? { kind: 'function', name: sentName }
  }

  /** Finds a tool that a choice names. */
  find(kind: string, name: unknown, namespace: unknown): AskedTool | undefined {
    return this.#listed.find(
      ({ tool }) =>
        tool.kind === kind && tool.name === name && (namespace === undefined || tool.namespace === namespace),
    )?.tool
  }

  /** The functions' names of those tools of a list that are there. */
  namesIn(tools: readonly unknown[], namespace?: string): readonly string[] {
    return tools.flatMap((given) => {
      const { type, name, tools: within } = fieldsOf(given) ?? {}
      if (type === 'namespace') return this.namesIn(itemsOf(within), String(name))
      const tool = this.find(String(type), name, namespace)
      return tool === undefined ? [] : this.sentName(tool)
    })
  }

  /** The functions of these tools, or of all. */
  functions(only?: readonly AskedTool[]): readonly JsonObject[] {
    return this.#listed
      .filter(({ tool }) => only === undefined || only.includes(tool))
      .map(({ tool, given }) => ({
        type: 'function',
        function: functionOf(tool, this.sentName(tool), given),
      }))
  }
}

function faultAt(path: string, fault: Fault | undefined): Fault | undefined {
  return fault && { path: `${path}${fault.path}`, problem: fault.problem }
}

function keyOf({ kind, namespace, name }: AskedTool): string {
  return JSON.stringify([kind, namespace ?? null, name])
}

function flatName(tool: AskedTool): string {
  const { name, namespace } = tool
  if (namespace === undefined) return name
  const flat = joined(namespace, name)
  return /^[\w-]*$/.test(flat) && flat.length <= nameLengthMax ? flat : hashedName(tool, 0)
}

function joined(namespace: string, name: string): string {
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`
}

/** Keeps the end of a name: there the tools of one namespace differ. */
function hashedName({ name, namespace = '' }: AskedTool, round: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([round, namespace, name]))
    .digest('hex')
  const flat = namespace === '' ? name : joined(namespace, name)
  const kept = flat.replace(/[^\w-]/g, '_').slice(-(nameLengthMax - hashLength - 1))
  return `${kept}_${hash.slice(0, hashLength)}`
}

function functionOf({ kind }: AskedTool, name: string, given: JsonObject): JsonObject {
  if (kind === 'custom') return customFunction(name, given)
  const { description, parameters, strict } = given
  const searches = kind === 'tool_search' ? searchDefaults : {}
  return {
    name,
    ...searches,
    ...(description === undefined || description === null ? {} : { description }),
    ...(parameters === undefined || parameters === null ? {} : { parameters }),
    ...(typeof strict === 'boolean' ? { strict } : {}),
  }
}

const searchDefaults = {
  description: 'Finds further tools by a query.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
} as const

const inputSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
} as const

/** A tool with a free text as its input: a function with one string. */
function customFunction(name: string, { description, format }: JsonObject): JsonObject {
  const { type, syntax, definition } = fieldsOf(format) ?? {}
  const grammar =
    type === 'grammar' ? [`The field "input" must match this ${syntax} grammar:\n${definition}`] : []
  const texts = [...(description ? [description] : []), ...grammar]
  return {
    name,
    ...(texts.length === 0 ? {} : { description: texts.join('\n\n') }),
    parameters: inputSchema,
  }
}
