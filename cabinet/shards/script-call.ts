import type { Command, Redis } from 'ioredis'

/** What one call of a function says and hears. */
export type ScriptCall = {
  readonly name: string
  readonly writes: 'yes' | 'no'
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
  /** Texts as strings. */
  readonly onReply: (reply: unknown) => void
  /** What Redis answered, or that it cannot be reached. */
  readonly onError: (error: Error) => void
}

/** Calls a function; heard later, and once. */
export function sendScriptCall(redis: Redis, call: ScriptCall): void {
  // ioredis uses no more of a command than `ScriptCommand` has, but declares its own class with all of its privates.
  redis.sendCommand(new ScriptCommand(call) as unknown as Command)
}

/**
 * A call as ioredis sends it.
 *
 * Its own `Command` can do what a script never asks for (prefixes, transformers, callbacks, time limits). With that a
 * call takes 8.7 µs of our processor, this way 6.0 (measured hot); each request makes two.
 */
class ScriptCommand implements Pick<Command, CommandNeeds> {
  readonly name = 'fcall'
  /** For the errors of ioredis: what is sent holds hashes of keys, and is nobody's business. */
  readonly args = nothingShown
  readonly promise = nobodyWaits
  readonly inTransaction = false
  readonly isTraced = true
  readonly #call: ScriptCall

  constructor(call: ScriptCall) {
    this.#call = call
  }

  toWritable(): string {
    const { name, writes, keys, args } = this.#call
    const command = writes === 'yes' ? '$5\r\nFCALL' : '$8\r\nFCALL_RO'
    let text = `*${3 + keys.length + args.length}\r\n${command}\r\n${itemText(name)}${itemText(keys.length)}`
    for (const key of keys) text += itemText(key)
    for (const arg of args) text += itemText(arg)
    return text
  }

  resolve(reply: unknown): void {
    this.#call.onReply(textsOf(reply))
  }

  reject(error: Error): void {
    this.#call.onError(error)
  }

  setReplyContext(): void {}
}

const nothingShown: never[] = []
const nobodyWaits = Promise.resolve()

type CommandNeeds =
  | 'name'
  | 'args'
  | 'promise'
  | 'inTransaction'
  | 'isTraced'
  | 'toWritable'
  | 'resolve'
  | 'reject'
  | 'setReplyContext'

function itemText(item: string | number): string {
  const text = String(item)
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}

function textsOf(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString('utf8')
  return Array.isArray(reply) ? reply.map(textsOf) : reply
}
