/** A process that talks to Redis, as Redis knows it: `ACL SETUSER <name> on >… <rules>`. */
export type RedisUser = {
  readonly name: 'model_gateway_gateway' | 'model_gateway_worker'
  /** Names, channels and commands, in order: what is not here is refused. */
  readonly rules: readonly string[]
}

/** Runs scripts, and loads them where Redis does not know them: they may do no more than who calls them. */
const scripts = ['+fcall', '+fcall_ro', '+function|load', '+time']
/** What is in the shards and next to them: hashes, texts, lists, sorted sets, streams. */
const data = ['+@hash', '+@string', '+@list', '+@sortedset', '+@stream', '+exists']
/** `info`: the run id, and how full the memory is. */
const connection = ['+@connection', '+@transaction', '-@admin', '-@dangerous', '+info']

/**
 * Admits and settles: it reads keys, secrets and the catalogue, and writes what requests use up. `epoch` is named as
 * written, for Redis takes the first name of a script as such.
 */
export const gatewayRedisUser: RedisUser = {
  name: 'model_gateway_gateway',
  rules: [
    // Those of every request first: Redis looks through them in order, at each name that a script touches.
    ...[
      'reset',
      '~mg:{s??}:use:*',
      '~mg:{s??}:org:*',
      '~mg:{s??}:request:*',
      '~mg:{s??}:epoch',
      '~mg:{s??}:due',
    ],
    ...['%R~mg:{s??}:cred:*', '%R~mg:{s??}:key:*', '~mg:{s??}:charges', '~mg:{s??}:refused:*'],
    ...['%R~mg:routes*', '%R~mg:pepper', '~mg:gateways'],
    ...['&mg:routes:rev', '+subscribe', '+unsubscribe'],
    ...data,
    ...scripts,
    ...connection,
  ],
}

/** Copies Postgres into Redis, and takes the charges out: it writes everything but what gateways say of themselves. */
export const workerRedisUser: RedisUser = {
  name: 'model_gateway_worker',
  rules: [
    ...['reset', '~mg:{s??}:*', '~mg:routes*', '~mg:pepper', '%R~mg:gateways'],
    // `scan` finds the holds of a shard, whose names nobody has a list of.
    ...['&mg:routes:rev', '+publish', '+scan'],
    ...data,
    ...scripts,
    ...connection,
  ],
}
