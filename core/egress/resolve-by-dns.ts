import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { ResolveName } from './guarded-connector.ts'

/** A name that takes longer is not found. With the second try, which may take twice as long: 6 s. */
const patience = { timeout: 2000, tries: 2 }
/** Addresses of each family that are tried, so that a name does not make us connect to hundreds of servers. */
const addressesMax = 4

/**
 * Resolves names by DNS only, without `/etc/hosts` and search domains. Unlike `dns.lookup`, it takes no thread: a
 * few names whose DNS servers do not respond would make all other names of the process wait, too.
 *
 * @param servers by default those of the system.
 */
export function createDnsResolver(servers?: readonly string[]): ResolveName {
  const dns = new Resolver(patience)
  if (servers !== undefined) dns.setServers(servers)
  return (name, _options, callback) => {
    void Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]).then(([ipv4, ipv6]) =>
      callback(null, [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)]),
    )
  }
}

function addressesOf(found: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  if (found.status === 'rejected') return []
  return found.value.slice(0, addressesMax).map((address) => ({ address, family }))
}
