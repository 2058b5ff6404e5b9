import { networkInterfaces } from 'node:os'
import { z } from 'zod'

/** The environment does not say what a process needs. Names every wrong variable at once, and no value. */
export class BadEnvironment extends Error {
  constructor(who: string, problems: readonly string[]) {
    super(`The settings of ${who} are wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'BadEnvironment'
  }
}

/**
 * Reads the settings of a process, once, at start-up. An empty variable is one that is not set, as in a Helm value or
 * an `.env` line that was left blank.
 *
 * @param who whose settings they are, for people: `the gateway`.
 * @throws BadEnvironment
 */
export function readEnvironment<Schema extends z.ZodObject>(
  who: string,
  schema: Schema,
  env: NodeJS.ProcessEnv,
): z.output<Schema> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(set)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0])
    // zod's messages say what is expected, never what was there.
    return `${name}: ${set[name] === undefined ? 'is not set' : message}`
  })
  throw new BadEnvironment(who, problems)
}

/** A port to listen at. 0: any free one. */
export const portSetting = z.coerce.number().int().min(0).max(65_535)

/** An address to listen at. Unless said all of them, as a container wants it, and as pods of every address family need it. */
export const hostSetting = z.string().min(1).default(everyAddress)

/** `::` takes IPv4, too; where the kernel has no IPv6 there is no such address. */
function everyAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((those) => those ?? [])
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0'
}

/** A span of time, in whole milliseconds. */
export const spanMsSetting = z.coerce.number().int().positive()

/** Key of an HMAC: as long as the hash's own strength asks for. */
export const secretSetting = z.string().min(32, 'must have at least 32 characters')

/** Seals providers' credentials, and opens them: 32 bytes, base64. */
export const sealingKeySetting = z
  .base64('must be base64')
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length === 32, 'must be 32 bytes in base64')

/** Where Postgres is, with user and password. */
export const postgresUrlSetting = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be a postgres:// address',
})

/** Where Redis is, with user and password where it wants them. */
export const redisUrlSetting = z.url({
  protocol: /^rediss?$/,
  error: 'must be a redis:// or rediss:// address',
})

/** Where something is that speaks HTTP. */
export const httpUrlSetting = z.url({
  protocol: /^https?$/,
  error: 'must be an http:// or https:// address',
})

/** What stands between commas; nothing between two of them is nothing. */
export const listSetting = z
  .string()
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))

/** `trace` … `fatal`, as pino has them. */
export const logLevelSetting = z
  .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
  .default('info')
