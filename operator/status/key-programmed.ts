import { no, type Verdict, yes } from './verdict.ts'

/**
 * Whether the gateways have the latest state of a key: once a worker has copied it to Redis, and they accept
 * keys from there.
 */
export function keyProgrammed({ isProjected }: { readonly isProjected: boolean }): Verdict {
  if (isProjected) return yes('Programmed', 'The gateways have the latest state of this key')
  return no(
    'GatewaysPending',
    'Waiting for the gateways: no worker has copied the latest change to this key to Redis yet, or Redis was just filled and opens in a few seconds. If this stays, check that a worker is running (worker)',
  )
}
