import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { z } from 'zod'
import type { KeyList } from './key-list.ts'
import { isCidr } from './networks.ts'
import { oldNamesEndIn, oldSettingOf } from './renamed.ts'
import { CannotStart, type Warn } from './start-or-exit.ts'

/** The settings of a process are missing or invalid. Names every such variable at once, and no value. */
export class BadEnvironment extends CannotStart {
  constructor(who: string, problems: readonly string[]) {
    super(`Invalid settings for ${who}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'BadEnvironment'
  }
}

/**
 * Reads the settings of a process, once, at start-up. An empty variable counts as not set, like a Helm value
 * or an `.env` line that was left blank.
 *
 * Each setting can come from a file instead: `KEY_PEPPER_FILE` is the path of a file with the value of
 * `KEY_PEPPER`. One newline at its end does not count.
 *
 * A setting that was renamed is also read under its old name. The new name takes precedence.
 *
 * @param who the process whose settings they are, for messages: `the gateway`.
 * @param warn gets a line for each old name that is set. Default: nothing does.
 * @throws BadEnvironment
 */
export function readEnvironment<Schema extends z.ZodObject>(
  who: string,
  schema: Schema,
  env: NodeJS.ProcessEnv,
  warn: Warn = () => undefined,
): z.output<Schema> {
  const set: Record<string, string> = {}
  const problems = new Map<string, string>()
  const usedNames = new Map<string, string>()
  for (const name of Object.keys(schema.shape)) {
    const usedName = nameInUse(name, env, warn)
    usedNames.set(name, usedName)
    const found = findValue(usedName, env)
    if (typeof found === 'string') set[name] = found
    else if (found !== undefined) problems.set(name, found.problem)
  }
  const parsed = schema.safeParse(set)
  if (parsed.success && problems.size === 0) return parsed.data
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0])
    // zod's messages say what is expected, never what was there.
    if (!problems.has(name))
      problems.set(name, `${usedNames.get(name)}: ${set[name] === undefined ? 'is not set' : message}`)
  }
  throw new BadEnvironment(who, [...problems.values()])
}

/** The name of a setting, or its old name if only that is set. */
function nameInUse(name: string, env: NodeJS.ProcessEnv, warn: Warn): string {
  const oldName = oldSettingOf(name)
  if (oldName === undefined || !isSet(oldName, env)) return name
  const isIgnored = isSet(name, env)
  warn(
    isIgnored
      ? `${oldName} is ignored because ${name}, its new name, is set. Remove ${oldName}.`
      : `${oldName} is deprecated and stops working in ${oldNamesEndIn}. Set ${name} instead.`,
  )
  return isIgnored ? name : oldName
}

const isSet = (name: string, env: NodeJS.ProcessEnv) => Boolean(env[name] || env[`${name}_FILE`])

/** The value of a variable, or of the file that it names; `undefined`: neither is set. */
function findValue(name: string, env: NodeJS.ProcessEnv): string | { readonly problem: string } | undefined {
  const value = env[name] || undefined
  const file = env[`${name}_FILE`] || undefined
  if (file === undefined) return value
  if (value !== undefined) return { problem: `${name}: must not be set together with ${name}_FILE` }
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    return text === '' ? { problem: `${name}_FILE: the file is empty` } : text
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    return { problem: `${name}_FILE: the file cannot be read${code}` }
  }
}

/** A port to listen on. 0: any free one. */
export const portSetting = wholeNumber(0, 65_535, 'must be a port number from 0 to 65535')

/** An address to listen on. The default is every address: containers want it, and pods of every address family need it. */
export const hostSetting = z.string().min(1).default(everyAddress)

/** `::` accepts IPv4 as well, but does not exist where the kernel has no IPv6. */
function everyAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((those) => those ?? [])
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0'
}

/** A duration in whole milliseconds. */
export const spanMsSetting = wholeNumber(
  1,
  Number.MAX_SAFE_INTEGER,
  'must be a whole number of milliseconds, at least 1',
)

/** A limit or a rate: a whole number, at least 1. */
export const countSetting = wholeNumber(1, Number.MAX_SAFE_INTEGER, 'must be a whole number, at least 1')

/** Key of an HMAC, at least as long as the hash is strong. */
export const secretSetting = z.string().min(32, 'must be at least 32 characters long')

/** URL of Postgres, with user and password. */
export const postgresUrlSetting = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be a postgres:// URL',
})

/** URL of Redis, with user and password if it needs them. */
export const redisUrlSetting = z.url({
  protocol: /^rediss?$/,
  error: 'must be a redis:// or rediss:// URL',
})

/** URLs of one Redis, or of several nodes of one cluster, separated by commas. */
export const redisUrlsSetting = z
  .string()
  .transform((text) => text.split(/,(?=\s*rediss?:)/).map((url) => url.trim()))
  .pipe(z.tuple([redisUrlSetting], redisUrlSetting))

/** URL of something that speaks HTTP. */
export const httpUrlSetting = z.url({
  protocol: /^https?$/,
  error: 'must be an http:// or https:// URL',
})

/** Items separated by commas; empty ones are left out. */
export const listSetting = z
  .string()
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))

/**
 * Networks such as `10.0.0.0/8` or `fd00::/8`, comma-separated; an address without a length is a single host.
 */
export const cidrListSetting = listSetting.refine(
  (all) => all.every((text) => isIP(text) !== 0 || isCidr(text)),
  {
    error: 'must be networks such as 10.0.0.0/8, separated by commas',
  },
)

/** Keys of an HMAC, comma-separated: a `KeyList`, so that one is rotated without a cut-over. */
export const secretListSetting = listSetting.pipe(z.array(secretSetting)).transform(toKeyList)

const sealingKeyProblem = 'must be 32 bytes encoded as base64'

const sealingKey = z
  .base64(sealingKeyProblem)
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length === 32, sealingKeyProblem)

/** Keys that encrypt and decrypt providers' credentials, comma-separated: 32 bytes each, base64. */
export const sealingKeyListSetting = listSetting.pipe(z.array(sealingKey)).transform(toKeyList)

function toKeyList<Key>([first, ...others]: readonly Key[], context: z.core.$RefinementCtx): KeyList<Key> {
  if (first !== undefined) return [first, ...others]
  context.addIssue('must have at least one key')
  return z.NEVER
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** pino's levels. */
export const logLevelSetting = z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info')

/** A whole number from `min` to `max`; anything else is `problem`, once. */
function wholeNumber(min: number, max: number, problem: string) {
  return z.coerce
    .number(problem)
    .refine((value) => Number.isSafeInteger(value) && value >= min && value <= max, problem)
}
