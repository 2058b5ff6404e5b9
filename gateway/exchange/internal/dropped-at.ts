import { findDropped } from '../../upstream/chat-request.ts'
import type { Dialect, OwnRequest } from '../../upstream/provider-adapter.ts'
import { findDroppedOfOwn, findRelay } from '../../upstream/relay.ts'
import type { JsonObject } from '../../wire/json-fields.ts'
import { namesShown } from '../../wire/openai-parameters.ts'
import type { Exchange } from '../exchange.ts'

/** A request and what may be sent of it. */
type Asked = Pick<Exchange, 'dropped'> & { readonly request: JsonObject; readonly own?: OwnRequest }

/** The parts of a request that a backend would not get, as `namesShown` names them. */
export function findDroppedAt({ request, own, dropped = [] }: Asked, dialect: Dialect): readonly string[] {
  const relay = findRelay(own, dialect)
  if (own !== undefined && relay !== undefined) return findDroppedOfOwn(own, relay, dialect)
  const lost = dropped.filter(({ isExtra }) => !isExtra)
  return lost.length > 0 ? namesShown(lost.map(({ path }) => path)) : findDropped(request, dialect)
}
