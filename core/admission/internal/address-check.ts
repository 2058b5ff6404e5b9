import { createAllowedNetworks } from '../../keys/allowed-networks.ts'
import type { KeyHash } from '../../keys/key.ts'
import type { Networks } from '../../process/networks.ts'
import { type AddressUnchecked, type ClientAddress, type IpList, refusedUnseen } from '../admission-reply.ts'

/** Lists remembered, of at most 100 networks each; the oldest is dropped first. */
const rememberedMax = 1024

/** How often a call is sent again because its key got another list in between. */
const listChangesMax = 3

/** The address of a client that is not known: it is in no list. */
const nowhere: ClientAddress = () => ''

type NotAllowed<Key> = {
  readonly outcome: 'refused'
  readonly key: Key
  readonly reason: 'ip_not_allowed'
  readonly ip: string
}

/**
 * Asks Redis, with the id of the key's list that the client's address is in ('': in none). If the key has another list the
 * address is compared with that, here, and Redis is asked again.
 */
export type AddressCheck = <Answer extends { readonly outcome: string }, Key>(
  secretHash: KeyHash,
  address: ClientAddress | undefined,
  ask: (ipsId: string) => Promise<Answer | AddressUnchecked<Key>>,
) => Promise<Answer | NotAllowed<Key> | typeof refusedUnseen>

/**
 * Compares addresses with the lists of keys, each of which is parsed once.
 *
 * No request is admitted by what is remembered: Redis compares the id with the list that the key has now, in the same script that
 * admits. So a change is in force at the next request, and an old list only costs a call. A rejection is never remembered, or
 * an address that was just allowed would be rejected for some time.
 */
export function createAddressCheck(): AddressCheck {
  const remembered = new Map<KeyHash, { readonly id: string; readonly networks: Networks }>()

  function learn(secretHash: KeyHash, { id, networks }: IpList): Networks {
    const known = remembered.get(secretHash)
    if (known?.id === id) return known.networks
    const [oldest] = known !== undefined || remembered.size < rememberedMax ? [] : remembered.keys()
    if (oldest !== undefined) remembered.delete(oldest)
    const parsed = createAllowedNetworks(networks)
    remembered.set(secretHash, { id, networks: parsed })
    return parsed
  }

  return async (secretHash, address = nowhere, ask) => {
    const known = remembered.get(secretHash)
    let ipsId = known?.networks.has(address()) ? known.id : ''
    for (let change = 0; change < listChangesMax; change++) {
      const answer = await ask(ipsId)
      if (!isUnchecked(answer)) return answer
      const { key, list } = answer
      const ip = address()
      if (!learn(secretHash, list).has(ip)) return { outcome: 'refused', key, reason: 'ip_not_allowed', ip }
      ipsId = list.id
    }
    return refusedUnseen
  }
}

function isUnchecked<Answer extends { readonly outcome: string }, Key>(
  answer: Answer | AddressUnchecked<Key>,
): answer is AddressUnchecked<Key> {
  return answer.outcome === 'unchecked'
}
