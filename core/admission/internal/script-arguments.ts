/**
 * The arguments of the gateway's scripts in their order, by the names of the tables of positions in the `.lua` files
 * (`script-arguments.test.ts` compares them). `asked` with its `candidate`s, `charge` and `renewal` are
 * repeated after those of `admit`, `settle` and `renew`.
 */
export const argumentNames = {
  key: ['clock_offset_ms', 'run_id', 'secret_hash', 'ips_id'],
  admit: ['clock_offset_ms', 'run_id', 'secret_hash', 'lease_ms', 'unposted_age_ms_max', 'ips_id'],
  asked: ['request_id', 'record', 'timeout_ms', 'attempt', 'candidate_count'],
  candidate: ['model', 'tokens', 'prompt', 'output_token', 'limit', 'usual', 'longest'],
  list: ['clock_offset_ms', 'organization'],
  settle: ['clock_offset_ms'],
  charge: [
    'request_id',
    'rank',
    'cost',
    'tokens',
    'organization',
    'key',
    'day',
    'owners',
    'record',
    'until_ms',
  ],
  void: ['clock_offset_ms', 'request_id', 'record'],
  renew: ['clock_offset_ms', 'lease_ms'],
  renewal: [
    'request',
    'cost',
    'record',
    'organization',
    'key',
    'day',
    'owners',
    'second',
    'amount',
    'tokens',
    'deadline',
  ],
} as const

/** Arguments in the order of `names`. */
export function argumentsOf<Name extends string>(
  names: readonly Name[],
  values: Readonly<Record<Name, string | number>>,
): (string | number)[] {
  return names.map((name) => values[name])
}
