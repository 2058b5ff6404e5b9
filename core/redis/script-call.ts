import type { Redis } from 'ioredis'

/** A library of Lua functions, which Redis keeps and replicates by its name (Redis 7, Valkey). */
export type Library = { readonly name: string; readonly source: string }

/**
 * One function of a library; one that declares `no-writes` runs on read-only commands. Any user that may load
 * libraries can replace the function. Use it only for callers with equal permissions.
 */
export type LibraryFunction = {
  readonly kind: 'function'
  readonly library: Library
  /** Its name in Redis, where all libraries share one namespace. */
  readonly name: string
  readonly writes: 'yes' | 'no'
}

/** A script that runs by the hash of its text, so that no other process can replace it. */
export type WholeText = {
  readonly kind: 'text'
  readonly text: string
  readonly sha1: string
  /** `no`: sent as read-only, so that its caller needs no right to write. */
  readonly writes: 'yes' | 'no'
}

export type Script = {
  /** Its name in logs and metrics. */
  readonly label: string
  readonly code: LibraryFunction | WholeText
  /** `always`: also while the circuit is open. What keeps or ends a hold must not wait behind what makes new ones. */
  readonly sent: 'always' | 'unless_open'
}

export type ScriptCall = {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

/** What calls have in common that may be sent as one: all of them read and write the same. */
export type Lane = {
  /**
   * Takes the arguments of several calls, one after the other, and replies with an array of as many replies and errors. To
   * one call it replies as if there were no others.
   */
  readonly script: Script
  readonly keys: readonly string[]
  /** What they are about, for example an API key. */
  readonly of: string
  /** The arguments before those of the calls. */
  readonly head: readonly (string | number)[]
}

/** Receives the reply to a call, once and later. Texts come as strings. */
export type Hearer = { onReply(reply: unknown): void; onError(error: unknown): void }

/** Runs a script; sends its source as well if Redis does not have it. */
export function sendScriptCall(redis: Redis, call: ScriptCall, hearer: Hearer): void {
  const onReply = (reply: unknown) => hearer.onReply(reply)
  const onError = (error: unknown) => hearer.onError(withoutArguments(error))
  send(redis, call).then(onReply, (error: unknown) => {
    if (!says(error, 'Function not found') && !says(error, 'NOSCRIPT')) return onError(error)
    sendWithSource(redis, call).then(onReply, onError)
  })
}

function send(redis: Redis, { script: { code }, keys, args }: ScriptCall): Promise<unknown> {
  if (code.kind === 'text')
    return code.writes === 'yes'
      ? redis.evalsha(code.sha1, keys.length, ...keys, ...args)
      : redis.evalsha_ro(code.sha1, keys.length, ...keys, ...args)
  return code.writes === 'yes'
    ? redis.fcall(code.name, keys.length, ...keys, ...args)
    : redis.fcall_ro(code.name, keys.length, ...keys, ...args)
}

async function sendWithSource(redis: Redis, call: ScriptCall): Promise<unknown> {
  const { code } = call.script
  if (code.kind === 'text') return await sendText(redis, code, call)
  await load(redis, code.library)
  return await send(redis, call)
}

function sendText(redis: Redis, { text, writes }: WholeText, { keys, args }: ScriptCall): Promise<unknown> {
  return writes === 'yes'
    ? redis.eval(text, keys.length, ...keys, ...args)
    : redis.eval_ro(text, keys.length, ...keys, ...args)
}

async function load(redis: Redis, { source }: Library): Promise<void> {
  try {
    await redis.function('LOAD', source)
  } catch (error) {
    if (!says(error, 'already exists')) throw error // another client was faster
  }
}

function says(error: unknown, words: string): boolean {
  return error instanceof Error && error.message.includes(words)
}

/** ioredis attaches what was sent to each error. Hashes of keys are in it, and must not be logged. */
function withoutArguments(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'command')
  return error
}
