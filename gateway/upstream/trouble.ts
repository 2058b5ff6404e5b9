import type { Trouble } from '#core/catalog/gateway-report'
import type { Failure, TransportFault } from './failure.ts'

const troubles = {
  unreachable: 'unreachable',
  timeout: 'timeout',
  overloaded: 'overloaded',
  failed: 'failed',
  bad_answer: 'bad_answer',
  credential: 'unauthorized',
  misrouted: 'misrouted',
  // Failures of the request itself. If another backend was called nevertheless, this one would not accept the
  // request.
  bad_request: 'failed',
  context_length: 'failed',
  content_policy: 'failed',
} as const satisfies Record<Failure['kind'], Trouble>

const neverReached: readonly string[] = ['connect_timeout', 'address_refused'] satisfies TransportFault[]

/** The name of a failure in the reports of gateways. */
export function troubleOf({ kind, result }: Failure): Trouble {
  return neverReached.includes(result) ? 'unreachable' : troubles[kind]
}
