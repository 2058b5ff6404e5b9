import { createHash } from 'node:crypto'
import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import type { DroppedField } from '../dropped-field.ts'
import type { Fault } from './field-checks.ts'
import { checkOwnTool } from './messages-checks.ts'

/** Longest name of a function, by OpenAI's API. */
const nameLengthMax = 64
const hashLength = 8
/** Bytes of a function beyond those of its tool. */
const wrapperBytes = 64

/**
 * The tools of a Messages request as functions.
 *
 * One with `defer_loading` is held back until a result refers to it: its client runs a search for such tools, and sends all
 * of them with each request.
 */
export class MessageTools {
  readonly #listed = new Map<string, JsonObject>()
  readonly #referred = new Set<string>()
  readonly #sentNames = new Map<string, string>()
  readonly #names = new Map<string, string>()
  readonly #dropped: DroppedField[]
  #isMarked = false

  constructor(dropped: DroppedField[]) {
    this.#dropped = dropped
  }

  /** Adds the tools that clients run. Those of the provider's own kinds are dropped. */
  add(tools: readonly unknown[], path: string): Fault | undefined {
    for (const [at, given] of tools.entries()) {
      const tool = fieldsOf(given) ?? {}
      const { type } = tool
      if (type !== undefined && type !== null && type !== 'custom') {
        const kind = typeof type === 'string' ? type : 'unknown'
        this.#dropped.push({ name: `tools.${kind}`, path: `${path}[${at}]` })
        continue
      }
      const fault = checkOwnTool(tool)
      if (fault !== undefined) return { path: `${path}[${at}]${fault.path}`, problem: fault.problem }
      const name = String(tool.name)
      this.#noteMark(tool, `${path}[${at}]`)
      if (!this.#listed.has(name)) this.#listed.set(name, tool)
    }
    for (const name of this.#listed.keys()) this.sentName(name)
    return undefined
  }

  /** Reported once: clients mark many. */
  #noteMark({ cache_control }: JsonObject, path: string): void {
    if (this.#isMarked || fieldsOf(cache_control) === undefined) return
    this.#isMarked = true
    this.#dropped.push({ name: 'cache_control', path: `${path}.cache_control`, isExtra: true })
  }

  /** A result names a tool, which the model may call from then on. */
  refer(name: string): void {
    this.#referred.add(name)
  }

  has(name: string): boolean {
    return this.#listed.has(name)
  }

  /** The function's name of a tool; also of one that is not there, but was called. */
  sentName(name: string): string {
    const known = this.#sentNames.get(name)
    if (known !== undefined) return known
    let sent = /^[\w-]{1,64}$/.test(name) ? name : hashedName(name, 0)
    for (let round = 1; this.#names.has(sent); round += 1) sent = hashedName(name, round)
    this.#sentNames.set(name, sent)
    this.#names.set(sent, name)
    return sent
  }

  /** The client's name of a function that a model called. Models call functions that do not exist. */
  nameOf(sentName: string): string {
    return this.#names.get(sentName) ?? sentName
  }

  /** The functions that the model may call. @param chosen a tool that it must call, held back or not. */
  functions(chosen?: string): readonly JsonObject[] {
    return [...this.#listed]
      .filter(([name, tool]) => tool.defer_loading !== true || this.#referred.has(name) || name === chosen)
      .map(([name, tool]) => functionOf(this.sentName(name), tool))
  }

  /** Bytes that the functions have beyond the tools of the request, at most. */
  get addedBytes(): number {
    return this.#listed.size * (wrapperBytes + nameLengthMax)
  }
}

function functionOf(
  name: string,
  { description, input_schema, strict, cache_control }: JsonObject,
): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined || description === null ? {} : { description }),
      parameters: input_schema,
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
    ...(fieldsOf(cache_control) === undefined ? {} : { cache_control }),
  }
}

/** Keeps the end of a name: there the tools of one server differ. */
function hashedName(name: string, round: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([round, name]))
    .digest('hex')
  const kept = name.replace(/[^\w-]/g, '_').slice(-(nameLengthMax - hashLength - 1))
  return `${kept}_${hash.slice(0, hashLength)}`
}
