import type { Dialect, OwnRequest } from '../../upstream/provider-adapter.ts'
import { findRelay } from '../../upstream/relay.ts'
import type { Asked } from '../exchange.ts'

/** A request that may be relayed, and maybe can only be relayed. */
type Relayable = {
  readonly request: object
  readonly own?: OwnRequest
  readonly nativeOnly?: Extract<Asked, { endpoint: 'chat' }>['nativeOnly']
}

/** Whether a backend can serve a request: some can only be relayed. */
export function canServe({ own, nativeOnly }: Relayable, dialect: Dialect): boolean {
  return nativeOnly === undefined || findRelay(own, dialect) !== undefined
}
