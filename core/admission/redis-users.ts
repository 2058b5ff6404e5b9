import { createHash } from 'node:crypto'

/** A process that calls Redis, as a Redis user: `ACL SETUSER <name> on >… <rules>`. */
export type RedisUser = {
  readonly name: 'model_gateway_gateway' | 'model_gateway_worker' | 'model_gateway_cabinet'
  /** Names, channels and commands, in order: what is not here is rejected. */
  readonly rules: readonly string[]
}

/**
 * The data types in the shards and next to them: hashes, texts, lists, sorted sets, streams; and the clock of
 * all that.
 */
const data = ['+@hash', '+@string', '+@list', '+@sortedset', '+@stream', '+time']
/** `info`: the run id, and how full the memory is. `cluster|nodes`: which server of a cluster has what. */
const connection = ['+@connection', '+@transaction', '-@admin', '-@dangerous', '+info', '+cluster|nodes']

/**
 * Admits and settles: it reads keys, secrets and the catalog, and writes what requests use up. `epoch` is named as
 * written, for Redis takes the first name of a script as such.
 */
export const gatewayRedisUser: RedisUser = {
  name: 'model_gateway_gateway',
  rules: [
    // Those of every request first: Redis looks through them in order, at each name that a script touches.
    'reset',
    '~mg:{s??}:use:*',
    '~mg:{s??}:org:*',
    '~mg:{s??}:request:*',
    '~mg:{s??}:epoch',
    '~mg:{s??}:due',
    '%R~mg:{s??}:cred:*',
    '%R~mg:{s??}:key:*',
    '~mg:{s??}:charges',
    '~mg:{s??}:refused:*',
    '~mg:{s??}:spend:*',
    // The names with a tag are those of a cluster.
    '%R~mg:routes*',
    '%R~mg:{common}:routes*',
    '%R~mg:pepper',
    '%R~mg:{common}:pepper',
    '~mg:gateways',
    '~mg:{common}:gateways',
    '&mg:routes:rev',
    '&mg:{common}:routes:rev',
    '+subscribe',
    '+unsubscribe',
    // Functions have only the permissions of their caller, but a user who loads them can replace them for
    // every caller.
    '+fcall',
    '+fcall_ro',
    '+function|load',
    '+pexpire', // of the lists of rejections
    ...data,
    ...connection,
  ],
}

/**
 * Copies Postgres into Redis, and takes the charges out: it writes everything but what gateways say of themselves. It
 * calls no function, since a gateway may have loaded that.
 */
export const workerRedisUser: RedisUser = {
  name: 'model_gateway_worker',
  rules: [
    'reset',
    '~mg:{s??}:*',
    '~mg:routes*',
    '~mg:{common}:routes*',
    '~mg:pepper',
    '~mg:{common}:pepper',
    '%R~mg:gateways',
    '%R~mg:{common}:gateways',
    // `scan` finds the holds of a shard: there is no list of their names.
    '&mg:routes:rev',
    '&mg:{common}:routes:rev',
    '+publish',
    '+scan',
    '+exists',
    // Scripts by the hash of their text, and the text if Redis does not have it.
    '+evalsha',
    '+eval',
    ...data,
    ...connection,
  ],
}

/**
 * Looks at keys and rejections, and counts what it throttles: `inspect` as a read-only script (`EVALSHA_RO`), for it may
 * write nothing but its own `mg:throttle:*`.
 */
export const cabinetRedisUser: RedisUser = {
  name: 'model_gateway_cabinet',
  rules: [
    'reset',
    '%R~mg:{s??}:epoch',
    '%R~mg:{s??}:cred:*',
    '%R~mg:{s??}:key:*',
    '%R~mg:{s??}:use:*',
    '%R~mg:{s??}:spend:*',
    '%R~mg:{s??}:org:*',
    '%R~mg:{s??}:refused:*',
    '~mg:throttle:*',
    '~mg:{common}:throttle:*',
    '+evalsha',
    '+eval',
    '+evalsha_ro',
    '+eval_ro',
    '+time',
    '+hget',
    '+hmget',
    '+lrange',
    '+zrangebyscore',
    // Commands that rate-limiter-flexible runs, inside its script and outside it.
    '+get',
    '+set',
    '+incrby',
    '+pttl',
    '+expire',
    '+del',
    ...connection,
  ],
}

/**
 * A user that has this password and no other, in the syntax of `ACL SETUSER` and `--user`. Redis receives a
 * hash, because logs and arguments can be read.
 */
export function loginOf({ name, rules }: RedisUser, password: string): readonly [string, ...string[]] {
  return [name, ...rules, 'on', hashOf(password)]
}

/** The same of `default`, who may do everything. */
export function ownersLogin(password: string): readonly [string, ...string[]] {
  return ['default', 'reset', 'on', hashOf(password), '~*', '&*', '+@all']
}

function hashOf(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`
}
