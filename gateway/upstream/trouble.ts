import type { Trouble } from '#cabinet/catalogue/gateway-report'
import type { Failure, TransportFault } from './failure.ts'

const troubles = {
  unreachable: 'unreachable',
  timeout: 'timeout',
  overloaded: 'overloaded',
  failed: 'failed',
  bad_answer: 'bad_answer',
  credential: 'unauthorized',
  misrouted: 'misrouted',
  // These are said of the request; where another backend was asked all the same, this one would not take it.
  bad_request: 'failed',
  context_length: 'failed',
  content_policy: 'failed',
} as const satisfies Record<Failure['kind'], Trouble>

const neverReached: readonly string[] = ['connect_timeout', 'address_refused'] satisfies TransportFault[]

/** What a failure is called in the reports of gateways. */
export function troubleOf({ kind, result }: Failure): Trouble {
  return neverReached.includes(result) ? 'unreachable' : troubles[kind]
}
