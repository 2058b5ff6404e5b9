import { expect } from 'vitest'

/** One choice of a response as a client has it in the end. */
export type ReadChoice = {
  readonly content?: string | null
  readonly reasoning?: string
  readonly refusal?: string
  readonly calls?: readonly (Partial<AssembledCall> & { readonly name: string })[]
  readonly finish?: string
  /** Fields other than the texts, put together as SDKs do it. */
  readonly other?: Fields
}

type Fields = { readonly [field: string]: unknown }
/** `type` and `input` in place of `arguments`: of a custom tool. */
type AssembledCall = {
  id: string
  type?: 'custom'
  name: string
  arguments?: string
  input?: string
  extra_content?: object
}

type Chunk = {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly delta: {
      readonly role?: string
      readonly content?: string | null
      readonly refusal?: string | null
      readonly reasoning_content?: string
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly type?: string
        readonly function?: { readonly name?: string; readonly arguments: string }
        readonly custom?: { readonly name?: string; readonly input: string }
        readonly extra_content?: object
      }[]
      readonly [field: string]: unknown
    }
    readonly finish_reason: string | null
  }[]
  readonly usage?: object | null
  readonly moderation?: object
}

/** The chunks of a stream in OpenAI's format. */
export function chunksOf(text: string): Chunk[] {
  const frames = text.split('\n\n')
  expect(frames.pop()).toBe('')
  for (const frame of frames) expect(frame).toMatch(/^data: [^\n]+$/)
  return frames.filter((frame) => frame !== 'data: [DONE]').map((frame) => JSON.parse(frame.slice(6)))
}

/** Puts chunks together as the strictest clients do, and fails where one of them would. */
export function assemble(chunks: readonly Chunk[]): ReadChoice[] {
  const choices: { -readonly [K in keyof ReadChoice]: ReadChoice[K] }[] = []
  const calls: AssembledCall[][] = []
  for (const { choices: given } of chunks)
    for (const { index, delta, finish_reason } of given) {
      if (choices[index] === undefined) {
        expect(index).toBe(choices.length)
        expect(delta).toEqual({ role: 'assistant', content: delta.content ?? null, refusal: null })
        choices.push({ content: delta.content ?? null })
        calls.push([])
        continue
      }
      const choice = choices[index]
      expect(choice.finish, 'nothing follows the finish').toBeUndefined()
      expect(delta).not.toHaveProperty('role')
      if (delta.content !== undefined) choice.content = (choice.content ?? '') + delta.content
      if (delta.refusal !== undefined) choice.refusal = (choice.refusal ?? '') + delta.refusal
      if (delta.reasoning_content !== undefined)
        choice.reasoning = (choice.reasoning ?? '') + delta.reasoning_content
      for (const call of delta.tool_calls ?? []) addCall(calls[index] ?? [], call)
      const other = Object.entries(delta).filter(([field]) => !texts.includes(field))
      if (other.length > 0) choice.other = merge(choice.other ?? {}, Object.fromEntries(other))
      if (finish_reason === null) continue
      expect(delta).toEqual({})
      choice.finish = finish_reason
    }
  return choices.map((choice, index) => {
    const made = calls[index] ?? []
    return made.length === 0 ? choice : { ...choice, calls: made }
  })
}

/** The same of the choices of a whole response. */
export function readWhole(choices: readonly Fields[]): ReadChoice[] {
  return choices.map(({ message, finish_reason: finish }) => {
    const { role, content, refusal, reasoning_content: reasoning, tool_calls, ...other } = fieldsIn(message)
    const calls = Array.isArray(tool_calls) ? tool_calls.map(callOf) : []
    expect(role).toBe('assistant')
    return {
      content: content === null ? null : String(content),
      ...(reasoning === undefined ? {} : { reasoning: String(reasoning) }),
      ...(refusal === null ? {} : { refusal: String(refusal) }),
      ...(calls.length === 0 ? {} : { calls }),
      finish: String(finish),
      ...(Object.keys(other).length === 0 ? {} : { other }),
    }
  })
}

function callOf({ id, type, function: called, custom, extra_content }: Fields): AssembledCall {
  if (type === 'custom') {
    const { name, input } = fieldsIn(custom)
    return { id: String(id), type, name: String(name), input: String(input) }
  }
  const { name, arguments: written } = fieldsIn(called)
  const signed = fieldsIn(extra_content)
  const kept = Object.keys(signed).length === 0 ? {} : { extra_content: signed }
  return { id: String(id), name: String(name), arguments: String(written), ...kept }
}

const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {})

const texts = ['content', 'refusal', 'reasoning_content', 'tool_calls', 'function_call']

/** What OpenAI's Python SDK makes of fields that it does not know; it raises where a list's item has no index. */
function merge(before: Fields, delta: Fields): Fields {
  const merged = new Map(Object.entries(before))
  for (const [field, value] of Object.entries(delta)) {
    const old = merged.get(field)
    if (Array.isArray(value)) merged.set(field, mergeItems(Array.isArray(old) ? old : [], value))
    else if (typeof old === 'string' && field !== 'type') merged.set(field, `${old}${value}`)
    else if (isFields(old) && isFields(value)) merged.set(field, merge(old, value))
    else merged.set(field, value)
  }
  return Object.fromEntries(merged)
}

function mergeItems(before: readonly unknown[], items: readonly unknown[]): unknown[] {
  const merged = [...before]
  for (const item of items) {
    if (!isFields(item) || typeof item.index !== 'number') throw new Error('an item without an index')
    const old = merged[item.index]
    merged[item.index] = isFields(old) ? merge(old, item) : item
  }
  return merged
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type CallDelta = NonNullable<Chunk['choices'][number]['delta']['tool_calls']>[number]

function addCall(calls: AssembledCall[], delta: CallDelta): void {
  const call = calls[delta.index]
  const { extra_content } = delta
  const kind = (call ?? delta).type === 'custom' ? 'custom' : 'function'
  const said = kind === 'custom' ? 'input' : 'arguments'
  const fields: Fields = delta[kind] ?? {}
  if (call !== undefined) {
    const signed = extra_content === undefined ? [] : ['extra_content']
    expect(Object.keys(delta)).toEqual(['index', kind, ...signed])
    expect(Object.keys(fields)).toEqual([said])
    call[said] += String(fields[said])
    if (extra_content === undefined) return
    expect(call.extra_content, 'SDKs would put two together').toBeUndefined()
    call.extra_content = extra_content
    return
  }
  expect(delta.index, 'indexes start at 0 and have no gaps').toBe(calls.length)
  expect(delta.type).toBe(kind)
  expect(delta.id).toMatch(/./)
  expect(fields[said]).toBe('')
  const type: Pick<AssembledCall, 'type'> = kind === 'custom' ? { type: kind } : {}
  const signed = extra_content === undefined ? {} : { extra_content }
  calls.push({ id: delta.id ?? '', ...type, name: String(fields.name), [said]: '', ...signed })
}
