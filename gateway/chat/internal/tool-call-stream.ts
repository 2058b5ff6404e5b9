import type { CallPart, CallStart, Signed } from '../../formats/content-step.ts'
import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import { argumentsOf, findSigned } from './answer-fields.ts'

/**
 * A step of one tool call as strict clients want it: the first names it, the others only carry arguments, or the input
 * of a custom tool, which is free text. One of them carries the call's signature, where it has one.
 */
export type ToolCallStep =
  | { readonly kind: 'call'; readonly call: CallStart }
  | { readonly kind: 'call_part'; readonly part: CallPart }

/** Calls of one choice beyond this are refused: no model makes so many, and each costs memory. */
const callsMax = 1024

type Call = {
  readonly upstreamIndex: number | undefined
  upstreamId: string | undefined
  /** Ours: 0, 1, 2 … in the order in which the calls were named; `undefined` until then. */
  index: number | undefined
  /** As it was named; `function` until then. */
  kind: 'function' | 'custom'
  /** Arguments that came before the name, and whether any came at all. */
  early: string
  hasArguments: boolean
  /** Until it is written: SDKs would put two of them together. */
  signed: Signed | 'written' | undefined
}

export type ToolCallStream = {
  /** The steps of a provider's `tool_calls`, or `undefined` if they are invalid. */
  accept(given: unknown): readonly ToolCallStep[] | undefined
  /** Calls named so far. */
  count(): number
  /**
   * The steps at the end: `{}` for a function that never got arguments. `undefined`: a call without
   * a name.
   */
  end(): readonly ToolCallStep[] | undefined
}

/**
 * Puts the tool calls of one streamed choice in order: index from 0 without gaps, id, type and name once.
 *
 * Providers leave out index, id or type, repeat id and name, or give every parallel call index 0 with a
 * separate id. `makeId` names a call that came without an id.
 */
export function createToolCallStream(makeId: (index: number) => string): ToolCallStream {
  const calls: Call[] = []
  let named = 0

  function acceptOne(given: JsonObject): readonly ToolCallStep[] | undefined {
    const custom = fieldsOf(given.custom)
    const fields = custom ?? fieldsOf(given.function) ?? {}
    const upstreamIndex = Number.isInteger(given.index) ? Number(given.index) : undefined
    const id = nonEmpty(given.id)
    const name = nonEmpty(fields.name)
    const fragment = argumentsOf(custom ? custom.input : fields.arguments)
    if (fragment === undefined) return undefined
    let call = findCall(calls, upstreamIndex, id, name)
    if (call === undefined) {
      if (calls.length === callsMax) return undefined
      call = newCall(upstreamIndex, id)
      calls.push(call)
    }
    call.upstreamId ??= id
    if (fragment !== '') call.hasArguments = true
    call.signed ??= findSigned(given)
    if (call.index !== undefined) return goOn(call, call.index, fragment)
    call.early += fragment
    if (name === undefined) return []
    if (custom) call.kind = 'custom'
    return start(call, name)
  }

  function start(call: Call, name: string): readonly ToolCallStep[] {
    const index = named
    named += 1
    call.index = index
    const id = call.upstreamId ?? makeId(index)
    const started = { index, id, type: call.kind, name, signed: takeSigned(call) }
    const first: ToolCallStep = { kind: 'call', call: started }
    return call.early === '' ? [first] : [first, partOf(call, index, call.early)]
  }

  return {
    accept(given) {
      if (!Array.isArray(given)) return undefined
      const deltas: ToolCallStep[] = []
      for (const item of given) {
        const fields = fieldsOf(item)
        const made = fields && acceptOne(fields)
        if (made === undefined) return undefined
        deltas.push(...made)
      }
      return deltas
    },
    count: () => named,
    end() {
      const deltas: ToolCallStep[] = []
      for (const { index, kind, hasArguments } of calls) {
        if (index === undefined) return undefined
        if (!hasArguments && kind === 'function') deltas.push(partOf({ kind }, index, '{}'))
      }
      return deltas
    },
  }
}

/** The text that a step adds to the response: the name of its call, or a part of its arguments or input. */
export function textOfCall(step: ToolCallStep): string {
  return step.kind === 'call' ? step.call.name : step.part.text
}

/** The call that a delta goes on with; `undefined` if it starts another one. */
function findCall(
  calls: readonly Call[],
  upstreamIndex: number | undefined,
  id: string | undefined,
  name: string | undefined,
): Call | undefined {
  const isAtIndex = (call: Call) => upstreamIndex === undefined || call.upstreamIndex === upstreamIndex
  const sameId = id !== undefined && calls.findLast((call) => call.upstreamId === id && isAtIndex(call))
  if (sameId) return sameId
  const last = calls.findLast(isAtIndex)
  if (last === undefined || name === undefined) return last
  const startsAnother =
    id === undefined ? upstreamIndex === undefined && last.index !== undefined : last.upstreamId !== undefined
  return startsAnother ? undefined : last
}

function newCall(upstreamIndex: number | undefined, upstreamId: string | undefined): Call {
  return {
    upstreamIndex,
    upstreamId,
    index: undefined,
    kind: 'function',
    early: '',
    hasArguments: false,
    signed: undefined,
  }
}

function goOn(call: Call, index: number, fragment: string): readonly ToolCallStep[] {
  const signed = takeSigned(call)
  return fragment === '' && signed === undefined ? [] : [partOf(call, index, fragment, signed)]
}

function partOf(
  { kind }: Pick<Call, 'kind'>,
  index: number,
  text: string,
  signed: Signed | undefined = undefined,
): ToolCallStep {
  return { kind: 'call_part', part: { index, type: kind, text, signed } }
}

/** The signature that is still to be written, once. */
function takeSigned(call: Call): Signed | undefined {
  const { signed } = call
  if (signed === undefined || signed === 'written') return undefined
  call.signed = 'written'
  return signed
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
